// SPDX-License-Identifier: Apache-2.0
// Placements of measured networks: the step and memory that every baseline reaches on four devices, and PipeDream's
// pipelines beside the best contiguous splits. Usage: placements PROFILE... [--splits PROBLEM...] (files of PipeDream's
// profiler, and of dnn-partitioning).
#include "tessera/io/exchange/layer_profile_file.hpp"
#include "tessera/io/exchange/split_problem_file.hpp"
#include "tessera/search/placement/annealing.hpp"
#include "tessera/search/placement/contiguous.hpp"
#include "tessera/search/placement/cut_placement.hpp"
#include "tessera/search/placement/experts.hpp"
#include "tessera/search/placement/list_placement.hpp"
#include "tessera/search/placement/metropolis.hpp"
#include "tessera/search/placement/pipedream.hpp"

#include <chrono>
#include <cstdio>
#include <cstring>

namespace ts = tessera;
namespace io = tessera::io;
namespace sp = tessera::search::placement;

namespace {

constexpr int devices = 4;
constexpr double link_bytes = 12e9; // per second, as over PCI Express 3.0

ts::cluster machine(ts::index_t memory) {
    ts::machine m;
    m.devices = devices;
    m.link_megabytes = static_cast<ts::index_t>(link_bytes / 1e6);
    m.link_latency = 10'000;
    m.capacity = memory;
    return ts::cluster(ts::fully_linked(m));
}

template <class Call>
auto timed(double& seconds, Call call) {
    const auto begin = std::chrono::steady_clock::now();
    auto result = call();
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return result;
}

void row(sp::evaluator& e, const char* name, const sp::found& f, double seconds) {
    const sp::outcome o = e.evaluate(f.where);
    std::printf("| %s | %.3f | %.2f | %s | %.3f | %lld |\n", name, static_cast<double>(o.step) * 1e-6,
                static_cast<double>(*std::max_element(o.peak_bytes.begin(), o.peak_bytes.end())) * 1e-9,
                o.feasible ? "yes" : "no", seconds, static_cast<long long>(f.evaluations));
}

/// All searches on a graph; memory is 1.3 times an equal share of what everything needs on one device.
void placements(const sp::cost_graph& g) {
    const ts::cluster plenty = machine(0);
    sp::evaluator unbounded(g, plenty);
    const ts::index_t all = unbounded.evaluate(sp::assignment(g.nodes.size(), 0)).peak_bytes[0];
    const ts::cluster on = machine(all * 13 / (10 * devices));
    sp::evaluator e(g, on);
    std::printf("\n## %s: %d nodes, %zu edges, %d devices of %.2f GB\n\n| search | step, ms | peak, GB | fits | s | "
                "evaluations |\n|---|---|---|---|---|---|\n",
                g.name.c_str(), g.count(), g.edges.size(), devices, static_cast<double>(e.capacity(0)) * 1e-9);
    double s = 0;
    sp::found best;
    const auto show = [&](const char* name, auto call) {
        const sp::found f = timed(s, call);
        row(e, name, f, s);
        best = best.where.empty() || f.better_than(best) ? f : best;
    };
    show("one device", [&] { return sp::on_one_device(e); });
    show("equal times", [&] { return sp::equal_times(e); });
    show("equal memory", [&] { return sp::equal_memory(e); });
    show("layer by layer", [&] { return sp::layer_by_layer(e); });
    show("multilevel cut", [&] { return sp::by_cut(e); });
    show("list scheduling", [&] { return sp::by_list(e); });
    const sp::assignment start = best.where;
    show("at random", [&] { return sp::at_random(e, 20'000); });
    sp::metropolis_options chain;
    chain.evaluations = 20'000;
    chain.start = start;
    show("Markov chain", [&] { return sp::metropolis(e, chain); });
    sp::annealing_options cool;
    cool.evaluations = 20'000;
    cool.start = start;
    show("annealing", [&] { return sp::anneal(e, cool); });
    cool.groups = sp::chain_groups(g, e.order(), 64);
    show("annealing, 64 chain groups", [&] { return sp::anneal(e, cool); });
}

/// PipeDream's plans, and its pipeline without replicas beside the best split by the load of dnn-partitioning.
void pipelines(const sp::cost_graph& g) {
    double s = 0;
    for (const bool paper : {true, false}) {
        sp::pipedream_options o;
        o.machines = devices;
        o.bytes_per_second = link_bytes;
        o.formula = paper ? sp::pipedream_formula::paper : sp::pipedream_formula::code;
        const sp::pipedream_plan plan = timed(s, [&] { return sp::plan_pipedream(g, o); });
        std::string text;
        for (const int r : plan.replicas) {
            text += (text.empty() ? "" : "-") + std::to_string(r);
        }
        std::printf("| %s | %s | replicas %s | %.3f | data parallel %.3f | %s | %.2f |\n", g.name.c_str(),
                    paper ? "PipeDream, paper" : "PipeDream, code", text.c_str(), plan.seconds * 1e3,
                    plan.data_parallel * 1e3, plan.all_cuts ? "all cuts" : "one order", s);
    }
    const sp::split_problem p = sp::to_split_problem(g, devices, 1e15, link_bytes);
    for (const bool paper : {true, false}) {
        sp::pipedream_options straight;
        straight.machines = devices;
        straight.bytes_per_second = link_bytes;
        straight.replicate = false;
        straight.formula = paper ? sp::pipedream_formula::paper : sp::pipedream_formula::code;
        const sp::pipedream_plan plan = timed(s, [&] { return sp::plan_pipedream(g, straight); });
        std::printf("| %s | PipeDream without replicas, %s | %zu stages | %.3f | load %.3f | %s | %.2f |\n",
                    g.name.c_str(), paper ? "paper" : "code", plan.replicas.size(), plan.seconds * 1e3,
                    sp::max_load(p, plan.stage), plan.all_cuts ? "all cuts" : "one order", s);
    }
    sp::contiguous_options limits;
    limits.most_pairs = 2'000'000'000;
    const sp::contiguous_found ours = timed(s, [&] { return sp::contiguous_optimum(p, limits); });
    std::printf("| %s | best contiguous split | %zu downsets | | load %.3f | %s | %.2f |\n", g.name.c_str(),
                ours.downsets, ours.load,
                ours.proved ? "proved" : ("at least " + std::to_string(ours.lower_bound)).c_str(), s);
}

} // namespace

int main(int count, char** arguments) {
    std::vector<sp::cost_graph> graphs;
    int i = 1;
    for (; i < count && std::strcmp(arguments[i], "--splits") != 0; ++i) {
        sp::layer_profile p = io::read_layer_profile(arguments[i]);
        p.name = p.name.substr(p.name.find_last_of('/') + 1);
        graphs.push_back(sp::to_cost_graph(p));
    }
    for (const sp::cost_graph& g : graphs) {
        placements(g);
    }
    if (!graphs.empty()) {
        std::printf("\n## Pipelines\n\n| network | plan | shape | slowest stage, ms | | how | s |\n"
                    "|---|---|---|---|---|---|---|\n");
    }
    for (const sp::cost_graph& g : graphs) {
        pipelines(g);
    }
    if (i < count) {
        std::printf("\n## Split problems\n\n| file | devices | nodes | blocks' downsets | best load | | s |\n"
                    "|---|---|---|---|---|---|---|\n");
    }
    for (++i; i < count; ++i) {
        const sp::split_problem p = io::read_split_problem(arguments[i]);
        double s = 0;
        const sp::contiguous_found f = timed(s, [&] { return sp::contiguous_optimum(p); });
        std::printf("| %s | %d + %d | %zu | %zu | %.3f | %s | %.2f |\n",
                    p.name.substr(p.name.find_last_of('/') + 1).c_str(), p.accelerators, p.cpus, p.nodes.size(),
                    f.downsets, f.load, f.proved ? "proved" : "not proved", s);
        std::fflush(stdout);
    }
}
