// SPDX-License-Identifier: Apache-2.0
// Bodies of embedding.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/embedding.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE kernels::look_up_numbers look_up_numbers_of(const shard_call& s) {
    const interval rows = s.region_of(s.parameter(0)).dim[0];
    const index_t tokens = rows_of(s, s.output());
    return {.tokens = tokens, .columns = s.volume(s.output()) / tokens, .rows = rows.size(), .first_row = rows.begin};
}

TESSERA_INLINE void look_up_forward(const shard_call& s) {
    s.to.launch(kernels::look_up, {s.value(s.input()), s.value(s.parameter(0)), s.value_to(s.output())},
                kernel_numbers(look_up_numbers_of(s)), s.volume(s.output()));
}

TESSERA_INLINE void look_up_backward(const shard_call& s) {
    kernels::look_up_numbers n = look_up_numbers_of(s);
    if (s.emits(s.parameter(0))) {
        constexpr index_t most = 2048; // blocks, twice what any GPU runs at a time
        for (n.blocks = 1; n.blocks < most && n.blocks < n.rows;) {
            n.blocks *= 2;
        }
        s.to.launch_blocks(kernels::look_up_gradient,
                           {s.value(s.input()), s.gradient(s.output()), s.gradient_to(s.parameter(0))},
                           kernel_numbers(n), n.blocks, n.tokens > n.columns ? n.tokens : n.columns);
    }
}

TESSERA_INLINE index_t before_rows(const shard_call& s) {
    const bool is_whole = s.d.operands[s.parameter(0)].dim[0].all;
    return is_whole ? s.region_of(s.output()).dim[1].begin * s.size(s.output(), 2) : 0;
}

TESSERA_INLINE void position_forward(const shard_call& s) {
    const kernels::add_table_numbers n{.count = s.volume(s.output()),
                                       .row_elements = s.size(s.output(), 1) * s.size(s.output(), 2)};
    memory_use rows = composer::from(s.value(s.parameter(0)), before_rows(s) * bytes_of(element::f32));
    rows.bytes = n.row_elements * bytes_of(element::f32);
    if (!s.in_bf16()) {
        tensor_operation add;
        add.count = n.row_elements;
        add.rows = to_int(n.count) / n.row_elements;
        add.repeats = true;
        s.to.add(add, {s.value(s.input()), rows, s.value_to(s.output())});
        return;
    }
    s.to.launch(kernels::add_table, {s.value(s.input()), rows, s.value_to(s.output())}, kernel_numbers(n), n.count);
}

TESSERA_INLINE void position_backward(const shard_call& s) {
    const memory_use dy = s.gradient(s.output());
    if (s.emits(s.input())) {
        s.to.add(memory_copy{}, {dy, s.gradient_to(s.input())});
    }
    if (s.emits(s.parameter(0))) {
        // column_sums takes samples and the elements that are used for rows and columns.
        const kernels::table_gradient_numbers n{.samples = s.size(s.output(), 0),
                                                .used = s.size(s.output(), 1) * s.size(s.output(), 2),
                                                .table = s.volume(s.parameter(0)),
                                                .first = before_rows(s)};
        if (n.table != n.used) { // a table of more rows
            s.to.launch(kernels::table_gradient, {dy, s.gradient_to(s.parameter(0))}, kernel_numbers(n), n.table);
            return;
        }
        s.to.launch(kernels::column_sums, {dy, s.gradient_to(s.parameter(0))}, kernel_numbers(n), n.used);
    }
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
