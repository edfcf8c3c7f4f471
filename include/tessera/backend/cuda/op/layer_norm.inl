// SPDX-License-Identifier: Apache-2.0
// Bodies of layer_norm.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/layer_norm.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE kernel_numbers layer_numbers(const shard_call& s) {
    const shape& x = s.d.operands[s.input()].extents;
    kernel_numbers n = row_numbers(s, s.input());
    n.f[0] = static_cast<double>(x[x.rank - 1]);
    n.f[1] = s.attributes().as<op::layer_norm_attributes>().epsilon;
    return n;
}

TESSERA_INLINE void layer_shift_gradient(const shard_call& s, const kernel_numbers& n, const memory_use& dy) {
    kernel_numbers columns = n;
    columns.n[3] = 4;
    s.to.launch_channels(kernels::statistics_gradient, {dy, dy, dy}, {dy, dy, s.gradient_to(s.parameter(1))}, columns);
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
