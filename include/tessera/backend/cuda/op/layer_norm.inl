// SPDX-License-Identifier: Apache-2.0
// Bodies of layer_norm.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/layer_norm.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE kernels::layer_norm_numbers layer_numbers(const shard_call& s) {
    const index_t rows = rows_of(s, s.input());
    return {.rows = rows, .columns = s.volume(s.input()) / rows};
}

TESSERA_INLINE kernels::norm_reals layer_reals(const shard_call& s) {
    const shape& x = s.d.operands[s.input()].extents;
    return {.count = static_cast<double>(x[x.rank - 1]),
            .epsilon = s.attributes().as<op::layer_norm_attributes>().epsilon};
}

TESSERA_INLINE void layer_shift_gradient(const shard_call& s, const kernels::layer_norm_numbers& n,
                                         const memory_use& dy) {
    const kernels::channel_numbers columns{.samples = n.rows, .channels = n.columns, .plane = n.plane, .wanted = 4};
    s.to.launch_channels(kernels::statistics_gradient, {dy, dy, dy}, {dy, dy, s.gradient_to(s.parameter(1))}, columns,
                         layer_reals(s));
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
