// SPDX-License-Identifier: Apache-2.0
// Bodies of group_norm.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/group_norm.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE kernels::group_norm_numbers group_numbers(const shard_call& s) {
    const index_t groups = s.size(s.intermediate(0), 2);
    const index_t rows = s.size(s.input(), 0) * groups;
    return {.rows = rows,
            .columns = s.volume(s.input()) / rows,
            .plane = s.size(s.input(), 2) * s.size(s.input(), 3),
            .groups = groups};
}

TESSERA_INLINE kernels::norm_reals group_reals(const shard_call& s) {
    const auto own = s.attributes().as<op::group_norm_attributes>();
    const shape& x = s.d.operands[s.input()].extents;
    const index_t elements = x.volume() / x[0] / own.groups;
    return {.count = static_cast<double>(elements), .epsilon = own.epsilon};
}

TESSERA_INLINE void group_shift_gradient(const shard_call& s, const kernels::group_norm_numbers& n,
                                         const memory_use& dy) {
    kernels::group_norm_numbers plain = n;
    plain.of_dy = 1;
    launch_by_channels(s, kernels::group_scale_gradient, {dy, dy, dy, s.gradient_to(s.parameter(1))},
                       kernel_numbers(plain, group_reals(s)));
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
