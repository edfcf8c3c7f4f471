// SPDX-License-Identifier: Apache-2.0
// Bodies of embedding.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/embedding.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE kernel_numbers table_numbers(const shard_call& s) {
    const interval rows = s.region_of(s.parameter(0)).dim[0];
    kernel_numbers n = row_numbers(s, s.output());
    n.n[2] = rows.size();
    n.n[3] = rows.begin;
    return n;
}

TESSERA_INLINE void look_up_forward(const shard_call& s) {
    s.to.launch(kernels::look_up, {s.value(s.input()), s.value(s.parameter(0)), s.value_to(s.output())},
                table_numbers(s), s.volume(s.output()));
}

TESSERA_INLINE void look_up_backward(const shard_call& s) {
    kernel_numbers n = table_numbers(s);
    if (s.emits(s.parameter(0))) {
        constexpr index_t most = 2048; // blocks, twice what any GPU runs at a time
        for (n.n[4] = 1; n.n[4] < most && n.n[4] < n.n[2];) {
            n.n[4] *= 2;
        }
        s.to.launch_blocks(kernels::look_up_gradient,
                           {s.value(s.input()), s.gradient(s.output()), s.gradient_to(s.parameter(0))}, n, n.n[4],
                           n.n[0] > n.n[1] ? n.n[0] : n.n[1]);
    }
}

TESSERA_INLINE index_t before_rows(const shard_call& s) {
    const bool is_whole = s.d.operands[s.parameter(0)].dim[0].all;
    return is_whole ? s.region_of(s.output()).dim[1].begin * s.size(s.output(), 2) : 0;
}

TESSERA_INLINE void position_forward(const shard_call& s) {
    kernel_numbers n = count_of(s.volume(s.output()));
    n.n[1] = s.size(s.output(), 1) * s.size(s.output(), 2);
    memory_use rows = composer::from(s.value(s.parameter(0)), before_rows(s) * bytes_of(element::f32));
    rows.bytes = n.n[1] * bytes_of(element::f32);
    if (!s.in_bf16()) {
        tensor_operation add;
        add.count = n.n[1];
        add.rows = to_int(n.n[0]) / n.n[1];
        add.repeats = true;
        s.to.add(add, {s.value(s.input()), rows, s.value_to(s.output())});
        return;
    }
    s.to.launch(kernels::add_table, {s.value(s.input()), rows, s.value_to(s.output())}, n, n.n[0]);
}

TESSERA_INLINE void position_backward(const shard_call& s) {
    const memory_use dy = s.gradient(s.output());
    if (s.emits(s.input())) {
        s.to.add(memory_copy{}, {dy, s.gradient_to(s.input())});
    }
    if (s.emits(s.parameter(0))) {
        kernel_numbers n;
        n.n[0] = s.size(s.output(), 0);
        n.n[1] = s.size(s.output(), 1) * s.size(s.output(), 2);
        n.n[2] = s.volume(s.parameter(0));
        n.n[3] = before_rows(s);
        if (n.n[2] != n.n[1]) { // a table of more rows
            s.to.launch(kernels::table_gradient, {dy, s.gradient_to(s.parameter(0))}, n, n.n[2]);
            return;
        }
        s.to.launch(kernels::column_sums, {dy, s.gradient_to(s.parameter(0))}, n, n.n[1]);
    }
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
