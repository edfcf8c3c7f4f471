// SPDX-License-Identifier: Apache-2.0
// How every compute task of a plan is done on the host, and the memory format of every parameter: the choice whose
// measured (or estimated) times, those of the reorders between unlike formats included, add up to the least.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/choose/chooser.hpp"
#include "tessera/backend/host/choose/groups.hpp"

namespace tessera::host::detail {

/// The way of a group, among those that qualify, with the least cost for it and for what it touches.
template <class Qualifies>
void chooser::take_best(int i, const Qualifies& qualifies) {
    group& x = groups_[to_size(i)];
    int best = x.chosen;
    double least = -1;
    for (int k = 0; k < static_cast<int>(costs_[to_size(i)].size()); ++k) {
        if (costs_[to_size(i)][to_size(k)] > not_measured || !qualifies(x.legs[0].options[to_size(k)])) {
            continue;
        }
        x.chosen = k;
        double total = costs_[to_size(i)][to_size(k)];
        for (const int which : touched_[to_size(i)]) {
            total += cost(passed_[to_size(which)]);
        }
        if (least < 0 || total < least - 1e-12) {
            least = total;
            best = k;
        }
    }
    x.chosen = best;
}

} // namespace tessera::host::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/choose/choose.inl"
#endif

#include "tessera/base/end_header.inl"
