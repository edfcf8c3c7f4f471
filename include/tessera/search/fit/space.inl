// SPDX-License-Identifier: Apache-2.0
// Bodies of space.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/fit/space.hpp"

namespace tessera::search::detail {

TESSERA_INLINE bool has_samples(const graph_view& g, int micro_batches, int width, baseline inside) {
    const index_t batch = g.tensors[0].extents[0];
    return micro_batches * index_t{inside == baseline::data_parallel ? width : 1} <= batch;
}

TESSERA_INLINE bool is_said_already(const graph_view& g, int width, baseline inside, const fit_options& o) {
    for (const baseline earlier : o.inside) {
        if (earlier == inside) {
            return false;
        }
        bool same = true;
        for (int op = 0; op < g.op_count && same; ++op) {
            same = baseline_configuration(g, op, width, earlier) == baseline_configuration(g, op, width, inside);
        }
        if (same) {
            return true;
        }
    }
    return false;
}

TESSERA_INLINE std::vector<std::pair<const schedule::policy_record*, bool>>
exchanges_of(const fit_choice& x, const fit_options& o, bool serial) {
    std::vector<std::pair<const schedule::policy_record*, bool>> ways;
    for (std::size_t k = 0; k <= (x.members() > 1 ? o.policies.size() : 0); ++k) {
        ways.emplace_back(k == 0 ? nullptr : o.policies[k - 1], false);
        if (serial && o.overlap && x.devices() > 1) {
            ways.emplace_back(ways.back().first, true);
        }
    }
    return ways;
}

TESSERA_INLINE std::vector<option_values> tried_values(const schedule::schedule_record& which, const fit_options& o) {
    std::vector<option_values> all{{}};
    for (const option_row& row : which.options) {
        for (const tried_option& tried : o.tried) {
            if (row.name.empty() || tried.name != row.name) {
                continue;
            }
            std::vector<option_values> more;
            for (const option_values& before : all) {
                for (const int value : tried.values) {
                    more.push_back(before);
                    more.back().set(row.name, value);
                }
            }
            all.swap(more);
        }
    }
    return all;
}

TESSERA_INLINE std::vector<fit_choice> fit_space(const graph_view& g, int devices, const fit_options& o) {
    std::vector<fit_choice> all;
    const auto add = [&](const schedule::settings& order, int width, baseline inside) {
        if (schedule::is_possible(order) && order.stages() <= g.op_count &&
            has_samples(g, order.micro_batches, width, inside)) {
            all.push_back({order,
                           std::vector<int>(to_size(order.workers), width),
                           std::vector<baseline>(to_size(order.stages()), inside),
                           {},
                           {},
                           false});
        }
    };
    std::vector<std::vector<baseline>> splits(to_size(devices) + 1); // that differ, by width
    const auto each_inside = [&](const schedule::settings& order, int width) {
        std::vector<baseline>& own = splits[to_size(width)];
        if (own.empty()) {
            for (const baseline inside : o.inside) {
                if (!is_said_already(g, width, inside, o)) {
                    own.push_back(inside);
                }
            }
        }
        for (const baseline inside : own) {
            add(order, width, inside);
        }
    };
    const auto each_again = [&](schedule::settings order, int width) {
        for (const schedule::rematerialize again : o.again) {
            // Elsewhere what goes forward last does not go backward first.
            if (again != schedule::rematerialize::except_last ||
                (order.which->last_returns_first && order.workers > 1)) {
                order.again = again;
                each_inside(order, width);
            }
        }
    };
    const bool joins = tessera::detail::first_joining_loss(g) >= 0; // and takes one micro-batch
    for (int used = devices; used >= 1; used = o.fewer_devices ? used / 2 : 0) {
        for (const int m : o.micro_batches) {
            if (m > 1 && joins) {
                continue;
            }
            schedule::settings order;
            order.which = &schedule::fill_drain_record;
            order.micro_batches = m;
            each_again(order, used);
            for (const schedule::schedule_record* which : o.schedules) {
                order.which = which;
                if (m == 1 && which->plain_for_one) {
                    continue;
                }
                for (order.workers = 2; order.workers <= used; ++order.workers) {
                    const bool mirrors = order.mirrors() && used < devices; // the mirror is the whole machine's
                    if (used % order.workers != 0 || mirrors || m > 8 * order.workers) {
                        continue;
                    }
                    for (const option_values& options : tried_values(*which, o)) {
                        order.options = options;
                        each_again(order, used / order.workers);
                    }
                    order.options = {};
                }
                order.workers = 1;
            }
        }
    }
    return all;
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
