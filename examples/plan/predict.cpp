// SPDX-License-Identifier: Apache-2.0
#include "examples/plan/plan.hpp"

#include <tessera/io/shown_run.hpp>
#include <tessera/io/waiting.hpp>
#include <tessera/search/explain/print.hpp>

#include <cstdio>

namespace planner {

void require_plannable(const problem& p, const ts::strategy& s) {
    // A slice of a parameter's gradient waits for every device that has a contribution, and to be known to be ordered compares a clock with a
    // place for each device of the plan.
    const auto all = static_cast<double>(p.on.devices());
    double joined = 0;
    double tasks = 0;
    for (int op = 0; op < p.network.op_count; ++op) {
        const auto shards = static_cast<double>(s.ops[static_cast<std::size_t>(op)].shards());
        const auto parameters = static_cast<double>(p.network.ops[op].parameters.size());
        joined += parameters * shards * shards * all;
        tasks += shards * (4 + 2 * parameters);
    }
    const double bytes = 8 * tasks * all; // of clocks
    if (joined > 4e10 || bytes > 8e9) {
        char text[160];
        std::snprintf(text, sizeof text, "about %.3g tasks on %.0f devices, which %.3g comparisons order", tasks, all,
                      joined);
        throw ts::error(std::string("the plan of this strategy is too large to be simulated as a whole: ") + text +
                        "; use fewer devices with --nodes or --devices, or split some layers over fewer of them "
                        "(grid/search.hpp prices networks of repeated blocks on thousands of devices)");
    }
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
