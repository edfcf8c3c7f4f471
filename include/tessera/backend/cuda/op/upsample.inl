// SPDX-License-Identifier: Apache-2.0
// Bodies of upsample.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/upsample.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE kernels::bilinear_numbers bilinear_numbers_of(const shard_call& s) {
    const box x = s.region_of(s.input());
    const box y = s.region_of(s.output());
    const auto a = s.attributes().as<op::upsample_attributes>();
    const shape& whole_input = s.d.operands[s.input()].extents;
    kernels::bilinear_numbers n{.planes = y.dim[0].size() * y.dim[1].size()};
    for (int d = 0; d < 2; ++d) {
        n.y[d] = y.dim[2 + d].size();
        n.first_y[d] = y.dim[2 + d].begin;
        n.x[d] = x.dim[2 + d].size();
        n.first_x[d] = x.dim[2 + d].begin;
        n.whole_x[d] = whole_input[2 + d];
        n.factor[d] = a.factor[d];
    }
    return n;
}

TESSERA_INLINE void bilinear_forward(const shard_call& s) {
    s.to.launch(kernels::bilinear_forward, {s.value(s.input()), s.value_to(s.output())},
                kernel_numbers(bilinear_numbers_of(s)), s.volume(s.output()));
}

TESSERA_INLINE void bilinear_backward(const shard_call& s) {
    if (s.emits(s.input())) {
        s.to.launch(kernels::bilinear_backward, {s.gradient(s.output()), s.gradient_to(s.input())},
                    kernel_numbers(bilinear_numbers_of(s)), s.volume(s.input()));
    }
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
