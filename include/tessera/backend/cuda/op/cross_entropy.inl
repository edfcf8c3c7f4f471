// SPDX-License-Identifier: Apache-2.0
// Bodies of cross_entropy.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/cross_entropy.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE kernels::row_numbers class_numbers(const shard_call& s) {
    const box x = s.region_of(s.input());
    if (x.rank == 3) {
        return {.samples = x.dim[0].size() * x.dim[1].size(),
                .columns = x.dim[2].size(),
                .plane = 1,
                .first_class = x.dim[2].begin};
    }
    const kernels::channel_numbers n = channel_numbers_of(s, s.input());
    return {.samples = n.samples, .columns = n.channels, .plane = n.plane, .first_class = x.dim[1].begin};
}

TESSERA_INLINE void cross_entropy_forward(const shard_call& s) {
    kernels::row_numbers n = class_numbers(s);
    const index_t rows = n.samples * n.plane;
    const index_t blocks = kernels::share_rows(n);
    const memory_use logits = s.value(s.input());
    const int largest = s.intermediate(0);
    const int total = s.intermediate(1);
    if (s.call.first_nest == 0) {
        s.to.launch_blocks(kernels::row_maximum, {logits, s.value_to(largest)}, kernel_numbers(n), blocks,
                           kernels::row_work);
    }
    if (s.call.first_nest <= 1 && s.call.last_nest >= 1) {
        s.to.launch_blocks(kernels::row_exponentials, {logits, s.value(largest), s.value_to(total)}, kernel_numbers(n),
                           blocks, kernels::row_work);
    }
    if (s.call.last_nest == 2) {
        s.to.launch(kernels::row_loss,
                    {logits, s.value(s.input(1)), s.value(largest), s.value(total), s.value_to(s.output())},
                    kernel_numbers(n), rows);
    }
}

TESSERA_INLINE void cross_entropy_backward(const shard_call& s) {
    kernels::row_numbers n = class_numbers(s);
    const index_t blocks = kernels::share_rows(n);
    s.to.launch_blocks(kernels::softmax_gradient,
                       {s.value(s.input()), s.value(s.input(1)), s.value(s.intermediate(0)), s.value(s.intermediate(1)),
                        s.gradient_to(s.input())},
                       kernel_numbers(n, kernels::loss_reals{.scale = s.call.loss_scale}), blocks, kernels::row_work);
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
