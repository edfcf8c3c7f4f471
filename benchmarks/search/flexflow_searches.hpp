// SPDX-License-Identifier: Apache-2.0
// Searches of the six benchmarks: what is found, how far seeds spread, what ten times as long brings, and what each
// kind of change is worth.
#pragma once

#include "benchmarks/search/flexflow_settings.hpp"
#include "benchmarks/search/patterns.hpp"
#include "tessera/search/coarse/coarse_search.hpp"
#include "tessera/simulate/critical_path.hpp"

namespace flexflow {

/// What may change, and how long.
struct variant {
    std::uint64_t seed = 1;
    int times = 1; ///< as much work
    bool with_reduction = true;
    bool operator_placement = true;
    bool with_parts = true;
};

struct found {
    search::mcmc_result result;
    double seconds = 0; ///< starts and searches of parts included
    std::int64_t made = 0;
    ts::index_t start(const char* name) const {
        for (const auto& c : result.chains) {
            if (c.start == name) {
                return c.start_cost;
            }
        }
        return INT64_MAX;
    }
};

/// A network on a machine with the starts that do not depend on the search.
class problem {
public:
    problem(int which, int devices, const settings& s)
        : which_(which), settings_(s), on_(machine(devices)), graph_(network(which, devices, s)) {
        const double begin = seconds();
        for (search::named_strategy& e : search::hand_designed(graph_.view(), on_)) {
            if (e.name != "one device" && e.name != "model parallel") {
                starts_.push_back(std::move(e));
            }
        }
        starts_.push_back({"OptCNN", optcnn(true)});
        took_ = seconds() - begin;
    }

    const char* name() const { return benchmarks::flexflow_names[which_]; }
    int devices() const { return on_.devices(); }
    const ts::cluster& on() const { return on_; }
    ts::graph_view g() const { return graph_.view(); }
    const search::named_strategy& data_parallel() const { return starts_[0]; }

    found run(const variant& v = {}) {
        const double begin = seconds();
        search::coarse_search_options o = options(v);
        std::vector<search::named_strategy> starts = starts_;
        if (!v.with_reduction) { // and no start that has them
            starts.back() = {"OptCNN", optcnn(false)};
        }
        if (!v.operator_placement) { // all of these keep to devices 0, 1, 2, ...
            std::erase_if(starts, [](const auto& s) { return s.name == "operators placed within nodes"; });
        }
        found f;
        const auto count = [&f](const search::search_progress& p) { f.made = p.made; };
        f.result = v.with_parts ? search::coarse_search(g(), on_, std::move(starts), o, count)
                                : search::parallel_search(g(), on_, std::move(starts), o.search).run(count);
        f.seconds = seconds() - begin + took_;
        forget_slow(f);
        return f;
    }

private:
    search::coarse_search_options options(const variant& v) const {
        benchmarks::search_rule rule = settings_.rule;
        rule.times = v.times;
        search::coarse_search_options o = rule.options(devices());
        search::mcmc_options& chain = o.search.chain;
        chain.seed = v.seed;
        chain.proposals.offered.with_reduction = v.with_reduction;
        chain.proposals.operator_placement = v.operator_placement;
        o.search.threads = ts::search_threads(settings_.threads);
        if (settings_.proposals > 0) { // so many, and no early end
            chain.stop = search::stop_rule::flexflow;
            chain.budget = chain.patience = std::int64_t{v.times} * settings_.proposals;
            chain.most_work = INT64_MAX;
            o.most_proposals = std::int64_t{300} * v.times;
        }
        return o;
    }
    ts::strategy optcnn(bool with_reduction) const {
        search::optcnn_options o;
        o.offered.with_reduction = with_reduction;
        return search::grouped_optcnn(graph_.view(), ts::uniform_machine(on_), o).best;
    }
    /// Later searches of the same problem need not simulate starts again that were far behind.
    void forget_slow(const found& f) {
        for (std::size_t i = starts_.size() - 1; i > 0; --i) {
            if (starts_[i].name != "OptCNN" &&
                static_cast<double>(f.start(starts_[i].name.c_str())) > 1.05 * static_cast<double>(f.result.cost)) {
                starts_.erase(starts_.begin() + static_cast<std::ptrdiff_t>(i));
            }
        }
        took_ = 0;
    }

    int which_;
    settings settings_;
    ts::cluster on_;
    ts::graph graph_;
    std::vector<search::named_strategy> starts_;
    double took_ = 0; ///< to make the starts, the first time
};

inline void print_gain(const char* name, const problem& p, const ts::strategy& s) {
    const ts::plan plan = ts::lower(p.g(), s.view(), p.devices());
    simulation::task_activities activities(p.on(), p.g(), {});
    const simulation::timeline t = simulation::simulate(plan, activities);
    const simulation::critical_time c = simulation::critical_path(plan, activities);
    double busy = 0;
    for (const ts::index_t b : t.device_busy) {
        busy += in_ms(b) / p.devices();
    }
    std::printf("| %s | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.3f | %.2f |\n", name, in_ms(t.makespan),
                in_ms(c.compute), in_ms(c.transfer), in_ms(c.synchronization), in_ms(c.waiting), busy,
                in_ms(t.makespan) - busy, static_cast<double>(plan.moved_bytes) * 1e-9);
}

inline found search_one(problem& p) {
    const found f = p.run();
    std::string best;
    ts::index_t others = INT64_MAX;
    std::printf("\n### %s, %d P100\n\n| start | ms | chain's best ms |\n|---|---|---|\n", p.name(), p.devices());
    for (const auto& c : f.result.chains) {
        std::printf("| %s | %.3f | %s |\n", c.start.c_str(), in_ms(c.start_cost),
                    c.made > 0 ? std::to_string(in_ms(c.cost)).c_str() : "-");
        if (c.start.rfind("found", 0) != 0 && c.start.rfind("random", 0) != 0 && c.start_cost < others) {
            others = c.start_cost;
            best = c.start;
        }
    }
    const double cost = in_ms(f.result.cost);
    std::printf(
        "\n| found ms | gain over data parallel | over the best start that is not searched for (%s) | proposals | "
        "s |\n|---|---|---|---|---|\n| %.3f | %.3fx | %.3fx | %lld | %.1f |\n",
        best.c_str(), cost, in_ms(f.start("data parallel")) / cost, in_ms(others) / cost,
        static_cast<long long>(f.made), f.seconds);
    std::printf(
        "\n| ms | step | path: compute | transfer | synchronization | waiting | mean device: compute | idle | GB "
        "moved |\n|---|---|---|---|---|---|---|---|---|\n");
    print_gain("data parallel", p, p.data_parallel().value);
    print_gain("found", p, f.result.best);
    benchmarks::print_patterns(p.g(), f.result.best, p.devices());
    std::fflush(stdout);
    return f;
}

/// Prints a row at once on stderr too: these searches take long.
inline std::string row(const char* form, auto... values) {
    char text[300];
    std::snprintf(text, sizeof(text), form, values...);
    std::fprintf(stderr, "%s", text);
    return text;
}

inline std::string seeds_one(problem& p, const found& first, int count) {
    double least = in_ms(first.result.cost);
    double most = least;
    double sum = least;
    for (int seed = 2; seed <= count; ++seed) {
        variant v;
        v.seed = static_cast<std::uint64_t>(seed);
        const double cost = in_ms(p.run(v).result.cost);
        least = std::min(least, cost);
        most = std::max(most, cost);
        sum += cost;
    }
    return row("| %s | %d | %.3f | %.3f | %.3f | %.2f %% | %d |\n", p.name(), p.devices(), least, sum / count, most,
               100 * (most / least - 1), count);
}

inline std::string long_one(problem& p, const found& once) {
    variant v;
    v.times = 10;
    const found ten = p.run(v);
    return row("| %s | %d | %.3f | %.3f | %.2f %% | %.1f | %.1f | %lld | %lld |\n", p.name(), p.devices(),
               in_ms(once.result.cost), in_ms(ten.result.cost),
               100 * (in_ms(once.result.cost) / in_ms(ten.result.cost) - 1), once.seconds, ten.seconds,
               static_cast<long long>(once.made), static_cast<long long>(ten.made));
}

inline std::string ablation_one(problem& p, const found& all) {
    variant v;
    v.with_reduction = false;
    const found no_reduction = p.run(v);
    v = {};
    v.operator_placement = false;
    const found no_placement = p.run(v);
    double no_parts = in_ms(all.result.cost);
    if (p.devices() > 4) {
        v = {};
        v.with_parts = false;
        no_parts = in_ms(p.run(v).result.cost);
    }
    return row("| %s | %d | %.3f | %.3f | %.3f | %.3f | %.3f |\n", p.name(), p.devices(),
               in_ms(all.start("data parallel")), in_ms(all.result.cost), in_ms(no_reduction.result.cost),
               in_ms(no_placement.result.cost), no_parts);
}

/// Which of the tables are made.
struct tables {
    bool seeds = false;
    bool longer = false;
    bool ablation = false;
};

inline void searches(const settings& s, const tables& wanted) {
    std::printf(
        "\n## Searches\n\nOn several nodes parts of the machine are searched first. The path is the critical one of "
        "the simulated step, its parts add up to the step.\n");
    std::string seeds;
    std::string longer;
    std::string ablation;
    for (const int devices : s.devices) {
        for (const int which : s.networks) {
            problem p(which, devices, s);
            const found f = search_one(p);
            longer += wanted.longer ? long_one(p, f) : "";
            seeds += wanted.seeds ? seeds_one(p, f, s.seeds) : "";
            ablation += wanted.ablation ? ablation_one(p, f) : "";
        }
    }
    if (wanted.longer) {
        std::printf("\n## Ten times as long\n\n| network | GPUs | found ms | ten times as long | worse by | s | s | "
                    "proposals | "
                    "proposals |\n|---|---|---|---|---|---|---|---|---|\n%s",
                    longer.c_str());
    }
    if (wanted.seeds) {
        std::printf("\n## Spread over seeds\n\n| network | GPUs | least ms | mean | most | spread | seeds "
                    "|\n|---|---|---|---|---|---|---|\n%s",
                    seeds.c_str());
    }
    if (wanted.ablation) {
        std::printf("\n## What the search may change\n\nms per step by the same rule.\n\n| network | GPUs | data "
                    "parallel | everything | no reduction splits | no operator placement | parts of the machine not "
                    "searched first |\n|---|---|---|---|---|---|---|\n%s",
                    ablation.c_str());
    }
}

} // namespace flexflow
