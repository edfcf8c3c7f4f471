// SPDX-License-Identifier: Apache-2.0
#include "examples/plan/plan.hpp"

#include <tessera/io/reports/shown_run.hpp>
#include <tessera/io/reports/waiting.hpp>
#include <tessera/search/equal_parts.hpp>
#include <tessera/search/explain/print.hpp>

#include <algorithm>
#include <cstdio>

namespace planner {

namespace {

/// How much there is to order in the plan of a strategy.
struct plan_size {
    double devices = 0;
    /// A slice of a parameter's gradient waits for every device that has a contribution, and to be known to be ordered
    /// compares a clock with a place for each device of the plan.
    double joined = 0;
    double tasks = 0;
    /// Pairs of results of a device: each is compared with those that had its memory before, most of them where there
    /// are many micro-batches.
    double pairs() const { return tasks * tasks / devices; }
    double clock_bytes() const { return 8 * tasks * devices; }
};

plan_size size_of(const problem& p, const ts::strategy& s) {
    plan_size x;
    x.devices = static_cast<double>(p.on.devices());
    for (int op = 0; op < p.network.op_count; ++op) {
        const auto shards = static_cast<double>(s.ops[ts::to_size(op)].shards());
        const auto parameters = static_cast<double>(p.network.ops[op].parameters.size());
        x.joined += parameters * shards * shards * x.devices;
        x.tasks += shards * (4 * s.micro_batches + 2 * parameters);
    }
    return x;
}

} // namespace

bool is_large(const problem& p, const ts::strategy& s) {
    const plan_size x = size_of(p, s);
    return x.joined > 4e9 || x.clock_bytes() > 8e8 || x.pairs() > 1e9;
}

void require_plannable(const problem& p, const ts::strategy& s) {
    const plan_size x = size_of(p, s);
    if (x.joined > 4e10 || x.clock_bytes() > 8e9 || x.pairs() > 1e12) {
        char text[200];
        std::snprintf(text, sizeof text, "about %.3g tasks on %.0f devices, which %.3g comparisons order", x.tasks,
                      x.devices, std::max(x.joined, x.pairs()));
        throw ts::error(std::string("the plan of this strategy is too large to be simulated as a whole: ") + text +
                        "; use fewer devices with --nodes or --devices, or split some layers over fewer of them, or "
                        "give fewer --micro-batches "
                        "(grid/search.hpp prices networks of repeated blocks on thousands of devices)");
    }
}

ts::search::finished_step step_of_parts(const problem& p, const ts::strategy& s) {
    const ts::io::waiting sign("simulating");
    ts::lower_options lowering;
    lowering.update = p.update;
    const ts::search::equal_parts x = ts::search::equal_parts_of(p.network, p.on, s, lowering);
    if (x.parts == 1) {
        return {};
    }
    const ts::search::parts_step found = ts::search::simulate_planned_parts(p.on, x, {}, lowering);
    return found.whole.empty() ? found.step : ts::search::finished_step{};
}

ts::io::shown_run run_of(const problem& p, const ts::strategy& s) {
    require_plannable(p, s);
    const ts::io::waiting sign("simulating");
    ts::lower_options lowering;
    lowering.update = p.update;
    return ts::io::simulated_run(p.network, s, p.on, lowering);
}

std::string explanation_of(const problem& p, const ts::strategy& s, const std::string& layer) {
    const ts::io::waiting sign("explaining " + layer);
    ts::search::explain_options how;
    how.lowering.update = p.update;
    return to_text(p.network, ts::search::explain(p.network, p.on, s, find_layer(p.network, layer), how));
}

} // namespace planner
