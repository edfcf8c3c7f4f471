// SPDX-License-Identifier: Apache-2.0
// Concatenation.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/op/concat.hpp"

namespace tessera::cuda::detail {

/// A region of input `o` in the output's coordinates.
inline box in_output(const shard_call& s, int o, box b) {
    const int axis = op::axis_of(s.attributes().as<op::concat_attributes>().axis, b.rank);
    const index_t offset = -s.d.operands[o].dim[axis].offset;
    b.dim[axis] = {b.dim[axis].begin + offset, b.dim[axis].end + offset};
    return b;
}

inline void concat_forward(const shard_call& s) {
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

inline void concat_backward(const shard_call& s) {
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

namespace tessera::cuda {

inline constexpr operator_row concat_row{
    .of = &op::concat_record,
    .forward = detail::concat_forward,
    .backward = detail::concat_backward,
    .calls_forward = "kernel:strided_copy_f32",
    .calls_backward = "kernel:strided_copy_f32",
    .why = "a copy computes nothing; one kernel has all types and five dimensions, as redistribution needs them",
};

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
