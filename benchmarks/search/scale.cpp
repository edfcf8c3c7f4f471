// SPDX-License-Identifier: Apache-2.0
// Plans GPT-3 175B for 1,024 and 16,384 H200s: prints the grid found, its predicted step, memory and search time, what
// was better on the way; before that, estimates beside simulations of whole plans on up to 64 devices.
#include "benchmarks/support/timing.hpp"
#include "examples/zoo/transformers.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/search/grid/search.hpp"

#include <cstdio>
#include <cstdlib>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using benchmarks::clock_type;
using benchmarks::milliseconds_since;

ts::lower_options adam() {
    ts::lower_options o;
    o.update = ts::optimizer(ts::adam{});
    return o;
}

std::string text_of(const search::device_grid& x) {
    return "data " + std::to_string(x.data) + " x tensor " + std::to_string(x.tensor) + " x stages " +
           std::to_string(x.stages) + ", " + std::to_string(x.micro_batches) + " micro-batches" +
           (x.recompute ? ", recomputing" : "");
}

double in_gb(ts::index_t bytes) { return static_cast<double>(bytes) * 1e-9; }
double in_s(ts::index_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; }

/// GPT-3's layers, 16 of them, so that the whole plan can be lowered and simulated.
void compare(const ts::cluster& on, int data, int tensor, int stages, int micro_batches, bool recompute = false) {
    const ts::graph g = ts::describe<networks::gpt<16, 12288, 96, 2048>>(ts::index_t{data} * micro_batches);
    search::grid_estimator estimate(g.view(), on, {}, adam());
    const auto x = search::megatron_grid(g.view(), data, tensor, stages, micro_batches, recompute);
    auto start = clock_type::now();
    const search::grid_cost c = estimate(x);
    const double fast = milliseconds_since(start);
    start = clock_type::now();
    ts::plan p = search::bound_plan(g.view(), search::strategy_of(g.view(), x), on.devices(), adam());
    const ts::index_t whole = ts::simulation::simulate(g.view(), p, on).makespan;
    ts::plan_memory(p);
    const double slow = milliseconds_since(start);
    ts::index_t most = 0;
    for (std::size_t d = 0; d < p.arena_bytes.size(); ++d) {
        most = std::max(most, p.arena_bytes[d] + p.persistent_bytes[d]);
    }
    const auto off = [](ts::index_t a, ts::index_t b) {
        return 100 * (static_cast<double>(a) / static_cast<double>(b) - 1);
    };
    std::printf("| %s | %s | %.3f | %.3f | %+.1f | %.2f | %.2f | %+.1f | %.0f | %.0f |\n", on.graph().name.c_str(),
                text_of(x).c_str(), in_s(c.makespan), in_s(whole), off(c.makespan, whole), in_gb(c.most_bytes),
                in_gb(most), off(c.most_bytes, most), fast, slow);
    std::fflush(stdout);
}

void plan_for(int nodes, ts::index_t batch) {
    auto start = clock_type::now();
    const ts::cluster on(ts::machines::h200_nodes(nodes));
    const double made = milliseconds_since(start) / 1000;
    const ts::graph g = ts::describe<networks::gpt3_175b>(batch);
    start = clock_type::now();
    search::grid_options o;
    o.lowering = adam();
    search::grid_searcher searcher(g.view(), on, o);
    const search::grid_result r = searcher.run();
    const ts::strategy s = search::strategy_of(g.view(), r.best.grid);
    const double searched = milliseconds_since(start) / 1000;
    if (const ts::problem p = ts::check_layout(g.view(), s.view(), on.devices())) { // its plan is never made
        throw ts::error(ts::to_text(p, p.op >= 0 ? ts::path_of(g.view(), p.op) : std::string()));
    }
    const search::grid_cost& c = r.best.cost;
    std::printf("\n%d devices, batch %lld: %s, places: %s\n", on.devices(), static_cast<long long>(batch),
                text_of(r.best.grid).c_str(), r.best.within.c_str());
    std::printf(
        "  step %.2f s (%.2f s until the last gradient, %.2f s waiting in the busiest stage), at most %.1f GB of "
        "%.0f GB on a device\n",
        in_s(c.makespan), in_s(c.without_updates), in_s(c.bubble), in_gb(c.most_bytes),
        in_gb(searcher.estimator().memory_limit()));
    std::printf(
        "  searched in %.2f s (one core; the machine's graph took %.2f s before): %d grids, %d too large for the "
        "memory, %d estimated, the rest bounded away\n",
        searched, made, r.considered, r.too_large, r.estimated);
    std::printf("  memory by stage, GB:");
    for (const ts::index_t b : c.stage_bytes) {
        std::printf(" %.1f", in_gb(b));
    }
    std::printf("\n  better on the way:\n");
    for (const search::grid_candidate& b : r.better) {
        std::printf("    %8.2f s  %6.1f GB  %s, places: %s\n", in_s(b.cost.makespan), in_gb(b.cost.most_bytes),
                    text_of(b.grid).c_str(), b.within.c_str());
    }
    std::fflush(stdout);
}

} // namespace

int main(int count, char** arguments) {
    const bool all = count < 2 || std::atoi(arguments[1]) == 0;
    if (all) {
        std::printf(
            "16 layers of GPT-3 (width 12288, 2048 positions), f32, Adam: the estimate beside the simulation of the "
            "whole "
            "plan.\n\n"
            "| machine | grid | estimated s | simulated s | off %% | estimated GB | planned GB | off %% | ms | ms |\n"
            "|---|---|---|---|---|---|---|---|---|---|\n");
        for (const bool fast : {true, false}) {
            const ts::cluster on(fast ? ts::machines::h200_nodes(8) : ts::machines::p100_nodes(16));
            compare(on, 1, 1, 1, 1);
            compare(on, 4, 2, 1, 1);
            compare(on, 4, 4, 1, 2);
            compare(on, 1, 4, 4, 8);
            compare(on, 2, 4, 4, 8);
            compare(on, 2, 8, 2, 8);
            compare(on, 1, 8, 8, 16, true);
            compare(on, 8, 8, 1, 2);
        }
    }
    plan_for(128, 1536);
    plan_for(2048, 6144);
}
