// SPDX-License-Identifier: Apache-2.0
// Data parallelism without redundant memory: Rajbhandari et al., "ZeRO" (SC 2020), section 5.
#pragma once

#include "tessera/schedule/gradients.hpp"

namespace tessera::schedule {

constexpr problem check_zero(int stage) {
    return stage < 1 || stage > 3 ? problem{rule::zero_has_three_stages, -1, -1, stage, stage < 1 ? 1 : 3} : problem{};
}

/// What the n workers keep only a slice of: stage 1 the optimizer's state, 2 also the summed gradients, 3 also the parameters. Gradients in buckets of
/// `bucket` elements are reduce-scattered, each worker updates its slices when the backward pass is over, and (1, 2) the parameters are all-gathered.
/// Of Psi parameters each worker sends 2(n-1)/n Psi in stages 1 and 2, in stage 3, which gathers parameters forward and backward, 3(n-1)/n Psi.
/// Throws tessera::error for another stage.
inline synchronization zero(const std::vector<ready_gradient>& gradients, int stage, index_t bucket = 500'000'000) {
    require(check_zero(stage));
    synchronization s;
    s.sum_at = stage == 1 ? sync_time::after_backward : sync_time::ready;
    s.update_at = stage == 1 ? sync_time::ready : sync_time::after_backward;
    s.shards_parameters = stage == 3;
    index_t filled = bucket;
    for (const ready_gradient& x : gradients) {
        if (filled >= bucket || stage > 1) { // a gradient's memory is free as soon as it is summed
            s.messages.push_back({exchange::sliced, 0, {}});
            filled = 0;
        }
        s.messages.back().pieces.push_back({x.parameter, 0, 1});
        filled += x.elements;
    }
    return s;
}

} // namespace tessera::schedule
