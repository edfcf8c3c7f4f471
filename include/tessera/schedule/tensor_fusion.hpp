// SPDX-License-Identifier: Apache-2.0
// Horovod's tensor fusion: Sergeev and Del Balso (arXiv 1802.05799); the rule is that of horovod/common/controller.cc,
// FuseResponses.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/policy_record.hpp"
#include "tessera/schedule/typed_synchronization.hpp"

namespace tessera::schedule {

/// Horovod's settings; these are those of version 0.21.1 and later (before: 64 MiB and 5 ms).
struct fusion {
    index_t threshold = index_t{128} << 20; ///< bytes; 0: every gradient by itself
    index_t cycle = 1'000'000;              ///< ns between two looks at what has become ready; 0: as 1
};

constexpr problem check_fusion(const fusion& how) {
    const index_t least = how.threshold < how.cycle ? how.threshold : how.cycle;
    return least < 0 ? problem{rule::fusion_is_negative, -1, -1, least, 0} : problem{};
}

namespace detail {

/// Fuses what one cycle has found ready: what follows the first joins it while the types agree and the sum keeps to the
/// threshold; others are skipped, and looked past while the sum with all skipped keeps to it. What is larger travels
/// alone.
void fuse_cycle(std::vector<ready_gradient> ready, index_t threshold, std::vector<message>& out);

} // namespace detail

/// All-reduces of what becomes ready within one cycle, fused. Every worker updates its whole copy. Throws
/// tessera::error for a threshold or cycle below 0.
synchronization tensor_fusion(const std::vector<ready_gradient>& gradients, const fusion& how = {});

inline constexpr option_row fusion_threshold_option{
    "fusion-bytes", "that tensor fusion puts together, at most; 0: every gradient by itself", index_t{128} << 20, 0,
    1e15};
inline constexpr option_row fusion_cycle_option{
    "fusion-cycle", "ns between two looks at what is ready for tensor fusion; 0: as 1", 1'000'000, 0, 1e15};

inline constexpr policy_record tensor_fusion_record{
    .name = "tensor-fusion",
    .title = "tensor fusion",
    .about = "Horovod's all-reduces of what becomes ready in one cycle",
    .make =
        [](const policy_setting& x) {
            return tensor_fusion(x.gradients, {x.options.as<index_t>(fusion_threshold_option),
                                               x.options.as<index_t>(fusion_cycle_option)});
        },
    .options = {fusion_threshold_option, fusion_cycle_option},
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: synchronize<tensor_fusion<>>.
template <index_t Threshold = schedule::fusion{}.threshold, index_t Cycle = schedule::fusion{}.cycle>
struct tensor_fusion {
    static constexpr problem check() { return schedule::check_fusion({Threshold, Cycle}); }
    static constexpr sync_modes modes() { return {true, sync_time::ready, sync_time::ready, false, 0}; }
    static synchronization make(const std::vector<schedule::ready_gradient>& gradients, const schedule::worker_speed&) {
        return schedule::tensor_fusion(gradients, {Threshold, Cycle});
    }
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/tensor_fusion.inl"
#endif

#include "tessera/base/end_header.inl"
