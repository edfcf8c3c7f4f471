// SPDX-License-Identifier: Apache-2.0
// fit() as a search that is chosen by name, with a table of what it simulated.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/search/fit/fit.hpp"

#include <cstdio>

namespace tessera::search {

namespace detail {

/// "808 MB": three digits and a unit.
std::string short_bytes(index_t bytes);

} // namespace detail

/// How many there were, with what memory one fits, the ten best, and how gradients are exchanged.
std::string to_text(const graph_view& g, const fit_result& r);

inline constexpr option_row simulations_option{"simulations", "of fit, before it refines what it found", 48, 1,
                                               100'000};

inline constexpr search_record fit_record{
    .name = "fit",
    .title = "fit",
    .about = "the fastest that fits: schedule, micro-batches, stages, what is inside them, re-materialization, "
             "synchronization",
    .run =
        [](const graph_view& g, const cluster& on, const search_options& o) {
            fit_options how;
            how.lowering = o.lowering;
            how.simulations = o.values.as<int>(simulations_option);
            if (o.micro_batches > 0) {
                how.micro_batches = {o.micro_batches};
            }
            if (o.recompute) {
                how.again = {schedule::rematerialize::all, schedule::rematerialize::except_last};
            }
            if (o.schedule != nullptr) {
                how.schedules = {o.schedule};
                for (const option_row& row : o.schedule->options) {
                    if (!row.name.empty() && o.values.has(row.name)) {
                        how.tried = {{row.name, {o.values.as<int>(row)}}};
                    }
                }
            }
            if (o.policy != nullptr) {
                how.policies = {o.policy};
                how.options = options_of(*o.policy, o.values);
            }
            how.context = const_cast<search_options*>(&o); // which go_on() reads alone
            how.go_on = [](void* context, int simulated, int most) {
                const auto& given = *static_cast<const search_options*>(context);
                if (given.report) {
                    given.report({simulated, most, -1});
                }
                return !given.is_interrupted();
            };
            const fit_result found = fit(g, on, how);
            if (!found.fits) {
                throw error(to_text(g, found) + found.reason);
            }
            return search_found{found.best, to_text(g, found)};
        },
    .options = {simulations_option},
    .takes_all = true,
    .weighs_policy = true,
    .unit = "simulations",
    .fixed_budget = true,
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/fit/named.inl"
#endif

#include "tessera/base/end_header.inl"
