// SPDX-License-Identifier: Apache-2.0
// Bodies of softmax.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/softmax.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE kernels::row_numbers softmax_numbers(const shard_call& s, int o) {
    kernels::row_numbers n = row_numbers_of(s, o);
    const box x = s.region_of(o);
    if (s.attributes().as<op::softmax_attributes>().causal) {
        n.causal_rows = x.dim[x.rank - 2].size();
        n.first_row = x.dim[x.rank - 2].begin - x.dim[x.rank - 1].begin;
    }
    return n;
}

TESSERA_INLINE void softmax_forward(const shard_call& s) {
    if (s.to.what().compute().implementation == whole_operator) {
        const kernels::row_numbers n = row_numbers_of(s, s.input());
        s.to.add(row_softmax{false, to_int(n.samples), to_int(n.columns), s.type()},
                 {s.value(s.input()), s.value_to(s.output())});
        return;
    }
    const box x = s.region_of(s.input());
    kernels::row_numbers n = softmax_numbers(s, s.input());
    const index_t blocks = kernels::share_rows(n);
    const int lengths = s.input(1);
    if (lengths >= 0) {
        n.sample_rows = n.samples / x.dim[0].size();
        n.first_column = x.dim[x.rank - 1].begin;
    }
    const auto with_lengths = [&](std::vector<memory_use> all) {
        if (lengths >= 0) {
            n.lengths_at = static_cast<index_t>(all.size());
            all.push_back(s.value(lengths));
        }
        return all;
    };
    const memory_use from = s.value(s.input());
    const int largest = s.intermediate(0);
    const int total = s.intermediate(1);
    if (s.call.first_nest == 0) {
        const auto all = with_lengths({from, s.value_to(largest)});
        s.to.launch_blocks(kernels::row_maximum, all, kernel_numbers(n), blocks, kernels::row_work);
    }
    if (s.call.first_nest <= 1 && s.call.last_nest >= 1) {
        const auto all = with_lengths({from, s.value(largest), s.value_to(total)});
        s.to.launch_blocks(kernels::row_exponentials, all, kernel_numbers(n), blocks, kernels::row_work);
    }
    if (s.call.last_nest == 2) {
        const auto all = with_lengths({from, s.value(largest), s.value(total), s.value_to(s.output())});
        s.to.launch_blocks(kernels::softmax_forward, all, kernel_numbers(n), blocks, kernels::row_work);
    }
}

TESSERA_INLINE void softmax_backward(const shard_call& s) {
    kernels::row_numbers n = softmax_numbers(s, s.output());
    const memory_use dy = s.gradient(s.output());
    const memory_use y = s.value(s.output());
    if (s.to.what().compute().implementation == whole_operator) {
        s.to.add(row_softmax{true, to_int(n.samples), to_int(n.columns), s.type()}, {y, dy, s.gradient_to(s.input())});
        return;
    }
    const int total = s.intermediate(1);
    const index_t blocks = kernels::share_rows(n);
    if (s.emits(total)) {
        s.to.launch_blocks(kernels::softmax_total_gradient, {dy, y, s.gradient_to(total)}, kernel_numbers(n), blocks,
                           kernels::row_work);
    }
    if (s.emits(s.input())) {
        s.to.launch_blocks(kernels::softmax_input_gradient, {dy, y, s.gradient(total), s.gradient_to(s.input())},
                           kernel_numbers(n), blocks, kernels::row_work);
    }
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
