// SPDX-License-Identifier: Apache-2.0
// The fastest strategy that fits, with what else was simulated.
#include "examples/plan/plan.hpp"

#include <tessera/io/progress.hpp>
#include <tessera/io/report_network.hpp>
#include <tessera/search/fit.hpp>

#include <range/v3/view/filter.hpp>
#include <range/v3/view/take.hpp>

#include <cstdio>

namespace planner {

ts::strategy fitted(const problem& p, const request& r) {
    ts::search::fit_options how;
    how.lowering.update = p.update;
    how.simulations = r.simulations;
    if (r.micro_batches > 1) {
        how.micro_batches = {r.micro_batches};
    }
    if (r.recompute) {
        how.again = {ts::schedule::rematerialize::all, ts::schedule::rematerialize::except_last};
    }
    ts::io::progress_options line;
    line.unit = "simulations";
    ts::io::progress_bar bar("fitting", how.simulations + how.refinements, line);
    how.context = &bar;
    how.go_on = [](void* context, int simulated, int) {
        auto& drawn = *static_cast<ts::io::progress_bar*>(context);
        drawn.advance(simulated - drawn.done());
        return !interruptible::flag();
    };
    const interruptible while_fitting;
    const ts::search::fit_result found = ts::search::fit(p.network, p.on, how);
    bar.clear();
    std::printf("of %lld strategies %d were simulated; with %s on each device one fits\n",
                static_cast<long long>(found.considered), found.simulated,
                ts::io::detail::bytes_text(static_cast<double>(found.smallest_memory)).c_str());
    const auto simulated = [](const ts::search::fit_row& row) { return row.refused.empty(); };
    for (const ts::search::fit_row& row : found.rows | ranges::views::filter(simulated) | ranges::views::take(10)) {
        std::printf("%12.3f ms %9s%s  %s\n", static_cast<double>(row.step) * 1e-6,
                    ts::io::detail::bytes_text(static_cast<double>(row.most_bytes)).c_str(), row.fits ? "  " : " !",
                    ts::search::to_text(p.network, row.how).c_str());
    }
    const std::string policy(found.row.how.policy == nullptr ? "" : found.row.how.policy->title);
    std::printf("gradients: %s%s\n", policy.empty() ? "each by itself, as soon as it is ready" : policy.c_str(),
                found.row.how.overlap ? ", beside computation" : "");
    if (!found.fits) {
        throw ts::error(found.reason);
    }
    return found.best;
}

} // namespace planner
