// SPDX-License-Identifier: Apache-2.0
// Checks that what becomes of gradients is of one parameter: sums, updates, their states and norms, averages and
// gatherings.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/loss_rows.hpp"
#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {

/// In every step the slices of a region are there once, and the regions cover what some gradient is of.
template <class Groups>
bool verifier::groups_cover(Groups& known, task_kind kind) {
    std::vector<std::vector<box>> wanted(to_size(g_.parameter_count)); // regions of contributions, or of copies
    const bool norms = kind == task_kind::norm;
    for (const tile& x : p_.tiles) {
        if (norms) {
            if (x.kind == tile_kind::parameter && x.origin < 0 && !known[to_size(x.tensor)].empty()) {
                wanted[to_size(x.tensor)].push_back(x.region);
            }
            continue;
        }
        if (x.kind == tile_kind::parameter_gradient && x.summand >= 0 && p_.clips && x.step == 0) {
            wanted[to_size(x.tensor)].push_back(x.region);
        }
    }
    for (int parameter = 0; parameter < g_.parameter_count; ++parameter) {
        for (auto& x : known[to_size(parameter)]) {
            const index_t n = x.region.volume();
            std::vector<interval> parts;
            for (const auto& [slice, slices] : x.slices) {
                parts.push_back(even_part(n, slices, slice));
            }
            if (x.sliced && n > 0 && !covers_once(parts, n)) {
                return refuse(nullptr, "the squares of a gradient of the parameter " +
                                           parameter_path_of(g_, parameter) + " are not all counted");
            }
        }
        for (const box& b : wanted[to_size(parameter)]) {
            for (int step = 0; step < p_.steps_per_plan; ++step) {
                bool covered = b.empty();
                for (const auto& x : known[to_size(parameter)]) {
                    covered = covered || (x.step == step && (norms ? x.region == b : !intersect(x.region, b).empty()));
                }
                if (!covered) {
                    return refuse(nullptr,
                                  norms ? "a norm lacks a part of the parameter " + parameter_path_of(g_, parameter)
                                        : "the norm lacks the gradient of the parameter " +
                                              parameter_path_of(g_, parameter));
                }
            }
        }
    }
    return true;
}

} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/plan/verify/updates.inl"
#endif

#include "tessera/base/end_header.inl"
