// SPDX-License-Identifier: Apache-2.0
// Bodies of concat.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/concat.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE box in_output(const shard_call& s, int o, box b) {
    const int axis = op::axis_of(s.attributes().as<op::concat_attributes>().axis, b.rank);
    const index_t offset = -s.d.operands[o].dim[axis].offset;
    b.dim[axis] = {b.dim[axis].begin + offset, b.dim[axis].end + offset};
    return b;
}

TESSERA_INLINE void concat_forward(const shard_call& s) {
    const box y = s.region_of(s.output());
    for (int k = 0; s.input(k) >= 0; ++k) {
        const int o = s.input(k);
        const box x = s.region_of(o);
        if (!x.empty()) {
            s.to.copy(box_between(x, x, in_output(s, o, x), y), s.value(o), s.value_to(s.output()), s.type(), true,
                      reducer::none);
        }
    }
}

TESSERA_INLINE void concat_backward(const shard_call& s) {
    const box y = s.region_of(s.output());
    for (int k = 0; s.input(k) >= 0; ++k) {
        const int o = s.input(k);
        const box x = s.region_of(o);
        if (s.emits(o) && !x.empty()) {
            s.to.copy(box_between(in_output(s, o, x), y, x, x), s.gradient(s.output()), s.gradient_to(o), s.type(),
                      true, reducer::none);
        }
    }
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
