// SPDX-License-Identifier: Apache-2.0
#include "examples/plan/plan.hpp"

#include <tessera/io/shown_run.hpp>
#include <tessera/search/print.hpp>

namespace planner {

ts::io::shown_run run_of(const problem& p, const ts::strategy& s) {
    ts::lower_options lowering;
    lowering.update = p.update;
    return ts::io::simulated_run(p.network, s, p.on, lowering);
}

std::string explanation_of(const problem& p, const ts::strategy& s, const std::string& layer) {
    ts::search::explain_options how;
    how.lowering.update = p.update;
    return to_text(p.network, ts::search::explain(p.on, p.network, s, find_layer(p.network, layer), how));
}

} // namespace planner
