// SPDX-License-Identifier: Apache-2.0
// Dropout of values, of whole channels, or of whole samples.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/kernels/mask.hpp"
#include "tessera/op/dropout.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel dropout{"dropout", true};

// clang-format off
TESSERA_KERNELS(dropout_code,

/// Arrays: of the five dimensions of a tile.
struct dropout_numbers {
    index_t extent[5] = {};
    index_t origin[5] = {}; ///< in the whole tensor
    index_t step[5] = {};   ///< of the mask's index
    index_t op = 0;
    index_t percent = 0;
};
struct dropout_reals {
    double scale = 0; ///< of what is kept
};
,

/// Dropout of values or of gradients, by the global index. at: from, to, step.
template <class T>
__device__ void dropout_of(const given<dropout_numbers, dropout_reals>& a) {
    const T* from = pointer<const T>(a, 0);
    T* to = pointer<T>(a, 1);
    const step_values* now = pointer<const step_values>(a, 2);
    const unsigned long long key = mask_key(*now, a.n.op);
    const float scale = static_cast<float>(a.f.scale);
    const long long count = a.n.extent[0] * a.n.extent[1] * a.n.extent[2] * a.n.extent[3] * a.n.extent[4];
    for (long long i = first_index(); i < count; i += index_step()) {
        long long rest = i;
        long long index = 0;
        for (int d = 4; d >= 0; --d) {
            index += (a.n.origin[d] + rest % a.n.extent[d]) * a.n.step[d];
            rest /= a.n.extent[d];
        }
        to[i] = keeps(key, index, a.n.percent) ? scale * from[i] : 0.0f;
    }
}
TYPED_KERNEL(dropout, dropout_numbers, dropout_reals)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

/// Forward and backward alike. The mask's index is that of the element, of the sample's channel, or of the sample, in
/// the whole tensor.
void drop(const shard_call& s, op::dropped_unit unit, memory_use from, memory_use to);

template <op::dropped_unit Unit>
void dropout_forward(const shard_call& s) {
    const memory_use from = s.value(s.input());
    const memory_use to = s.value_to(s.output());
    if (s.call.what == pass::evaluate) {
        s.to.add(memory_copy{}, {from, to});
    } else {
        drop(s, Unit, from, to);
    }
}

template <op::dropped_unit Unit>
void dropout_backward(const shard_call& s) {
    drop(s, Unit, s.gradient(s.output()), s.gradient_to(s.input()));
}

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row dropout_rows[] = {
    {.of = &op::dropout_record,
     .forward = detail::dropout_forward<op::dropped_unit::element>,
     .backward = detail::dropout_backward<op::dropped_unit::element>,
     .calls_forward = "kernel:dropout",
     .calls_backward = "kernel:dropout",
     .why = "the mask is a function of the global index, so that every split drops the same; cuDNN draws its own",
     .code = kernels::dropout_code},
    {.of = &op::channel_dropout_record,
     .forward = detail::dropout_forward<op::dropped_unit::channel>,
     .backward = detail::dropout_backward<op::dropped_unit::channel>,
     .calls_forward = "kernel:dropout",
     .calls_backward = "kernel:dropout",
     .why = "as dropout",
     .code = kernels::dropout_code},
    {.of = &op::stochastic_depth_record,
     .forward = detail::dropout_forward<op::dropped_unit::sample>,
     .backward = detail::dropout_backward<op::dropped_unit::sample>,
     .calls_forward = "kernel:dropout",
     .calls_backward = "kernel:dropout",
     .why = "as dropout",
     .code = kernels::dropout_code},
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/dropout.inl"
#endif

#include "tessera/base/end_header.inl"
