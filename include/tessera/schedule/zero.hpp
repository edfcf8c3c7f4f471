// SPDX-License-Identifier: Apache-2.0
// Data parallelism without redundant memory: Rajbhandari et al., "ZeRO" (SC 2020), section 5.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/policy_record.hpp"
#include "tessera/schedule/typed_synchronization.hpp"

namespace tessera::schedule {

constexpr problem check_zero(int stage, index_t bucket) {
    return stage < 1 || stage > 3 ? problem{rule::zero_has_three_stages, -1, -1, stage, stage < 1 ? 1 : 3}
                                  : check_bucket(bucket);
}

/// What the n workers keep only a slice of: stage 1 the optimizer's state, 2 also the summed gradients, 3 also the
/// parameters. Gradients in buckets of `bucket` elements are reduce-scattered, each worker updates its slices when the
/// backward pass is over, and (1, 2) the parameters are all-gathered. Of Psi parameters each worker sends 2(n-1)/n Psi
/// in stages 1 and 2, in stage 3, which gathers parameters forward and backward, 3(n-1)/n Psi. Throws tessera::error
/// for another stage and for buckets of less than 1 element.
synchronization zero(const std::vector<ready_gradient>& gradients, int stage, index_t bucket = 500'000'000);

inline constexpr option_row bucket_elements_option{"bucket-elements", "that ZeRO 1 reduce-scatters together, at least",
                                                   500'000'000, 1, 1e15};

inline constexpr policy_record zero_1_record{
    .name = "zero-1",
    .title = "ZeRO 1",
    .about = "data parallelism with a slice of the optimizer's state on each device",
    .make = [](const policy_setting& x) { return zero(x.gradients, 1, x.options.as<index_t>(bucket_elements_option)); },
    .options = {bucket_elements_option},
};

inline constexpr policy_record zero_2_record{
    .name = "zero-2",
    .title = "ZeRO 2",
    .about = "with a slice of the summed gradients too",
    .make = [](const policy_setting& x) { return zero(x.gradients, 2); },
};

inline constexpr policy_record zero_3_record{
    .name = "zero-3",
    .title = "ZeRO 3",
    .about = "with a slice of the parameters too",
    .make = [](const policy_setting& x) { return zero(x.gradients, 3); },
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: synchronize<zero<2>>.
template <int Stage, index_t Bucket = 500'000'000>
struct zero {
    static constexpr problem check() { return schedule::check_zero(Stage, Bucket); }
    static constexpr sync_modes modes() {
        return {true, Stage == 1 ? sync_time::after_backward : sync_time::ready,
                Stage == 1 ? sync_time::ready : sync_time::after_backward, Stage == 3, 0};
    }
    static synchronization make(const std::vector<schedule::ready_gradient>& gradients, const schedule::worker_speed&) {
        return schedule::zero(gradients, Stage, Bucket);
    }
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/zero.inl"
#endif

#include "tessera/base/end_header.inl"
