// SPDX-License-Identifier: Apache-2.0
// Bodies of group_norm.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/group_norm.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE kernel_numbers group_numbers(const shard_call& s) {
    const auto own = s.attributes().as<op::group_norm_attributes>();
    const shape& x = s.d.operands[s.input()].extents;
    const index_t groups = s.size(s.intermediate(0), 2);
    kernel_numbers n;
    n.n[0] = s.size(s.input(), 0) * groups;
    n.n[1] = s.volume(s.input()) / n.n[0];
    n.n[2] = s.size(s.input(), 2) * s.size(s.input(), 3);
    n.n[3] = groups;
    const index_t elements = x.volume() / x[0] / own.groups;
    n.f[0] = static_cast<double>(elements);
    n.f[1] = own.epsilon;
    return n;
}

TESSERA_INLINE void group_shift_gradient(const shard_call& s, const kernel_numbers& n, const memory_use& dy) {
    kernel_numbers plain = n;
    plain.n[4] = 1;
    launch_by_channels(s, kernels::group_scale_gradient, {dy, dy, dy, s.gradient_to(s.parameter(1))}, plain);
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
