// SPDX-License-Identifier: Apache-2.0
// Layer norm, softmax and look-ups, nest by nest: a split leaves partial results between the nests, for which no vendor call exists. A
// softmax whose rows are whole is one call of cuDNN; layer norm and look-ups have none in its classic interface.
#pragma once

#include "tessera/backend/cuda/dense_calls.hpp"
#include "tessera/backend/cuda/merge.hpp"

namespace tessera::cuda::detail {

/// Rows and columns of a tile whose last dimension is the row.
inline kernel_numbers row_numbers(const shard_call& s, int o) {
    kernel_numbers n;
    n.n[0] = rows_of(s, o);
    n.n[1] = s.volume(o) / n.n[0];
    n.n[2] = 1;
    return n;
}

// ---- layer norm ------------------------------------------------------------------------------------------------------

inline kernel_numbers layer_numbers(const shard_call& s) {
    const shape& x = s.d.operands[s.input()].extents;
    kernel_numbers n = row_numbers(s, s.input());
    n.f[0] = static_cast<double>(x[x.rank - 1]);
    n.f[1] = s.attributes().epsilon;
    return n;
}

inline void layer_norm_forward(const shard_call& s) {
    const kernel_numbers n = layer_numbers(s);
    const int statistics = s.intermediate(0);
    if (s.call.first_nest == 0) {
        kernel_numbers rows; // to that kernel a row is the plane of a channel of one sample
        rows.n[0] = 1;
        rows.n[1] = n.n[0];
        rows.n[2] = n.n[1];
        s.to.launch_blocks(kernel_id::channel_statistics, {s.value(s.input()), s.value_to(statistics)}, rows, n.n[0],
                           n.n[1]);
    }
    if (s.call.last_nest == 1) {
        s.to.launch(kernel_id::layer_normalize,
                    {s.value(s.input()), s.value(statistics), s.value(s.parameter(0)), s.value(s.parameter(1)),
                     s.value_to(s.output())},
                    n, s.volume(s.output()));
    }
}

inline void layer_norm_backward(const shard_call& s) {
    const kernel_numbers n = layer_numbers(s);
    const memory_use dy = s.gradient(s.output());
    const int statistics = s.intermediate(0);
    if (s.emits(statistics)) {
        s.to.launch_blocks(
            kernel_id::layer_statistics_gradient,
            {dy, s.value(s.input()), s.value(s.parameter(0)), s.value(statistics), s.gradient_to(statistics)}, n,
            n.n[0], n.n[1]);
    }
    if (s.emits(s.parameter(0))) {
        s.to.launch_blocks(kernel_id::layer_scale_gradient,
                           {dy, s.value(s.input()), s.value(statistics), s.gradient_to(s.parameter(0))}, n, n.n[1],
                           n.n[0]);
    }
    if (s.emits(s.parameter(1))) { // the sums of dy alone, as of batch norm: dy stands in for what they do not need
        kernel_numbers columns = n;
        columns.n[3] = 4;
        s.to.launch_channels(kernel_id::statistics_gradient, {dy, dy, dy}, {dy, dy, s.gradient_to(s.parameter(1))},
                             columns);
    }
    if (s.emits(s.input())) {
        s.to.launch(kernel_id::layer_input_gradient,
                    {dy, s.value(s.input()), s.value(s.parameter(0)), s.value(statistics), s.gradient(statistics),
                     s.gradient_to(s.input())},
                    n, s.volume(s.input()));
    }
}

// ---- softmax ---------------------------------------------------------------------------------------------------------

inline void softmax_forward(const shard_call& s) {
    if (s.to.what().implementation == whole_operator) {
        const kernel_numbers n = row_numbers(s, s.input());
        s.to.add(row_softmax{false, to_int(n.n[0]), to_int(n.n[1]), s.type()},
                 {s.value(s.input()), s.value_to(s.output())});
        return;
    }
    const box x = s.region_of(s.input());
    kernel_numbers n = row_numbers(s, s.input());
    if (s.attributes().causal) {
        n.n[4] = x.dim[x.rank - 2].size();
        n.n[5] = x.dim[x.rank - 2].begin - x.dim[x.rank - 1].begin;
    }
    const memory_use from = s.value(s.input());
    const int largest = s.intermediate(0);
    const int total = s.intermediate(1);
    if (s.call.first_nest == 0) {
        s.to.launch_blocks(kernel_id::row_maximum, {from, s.value_to(largest)}, n, n.n[0], n.n[1]);
    }
    if (s.call.first_nest <= 1 && s.call.last_nest >= 1) {
        s.to.launch_blocks(kernel_id::row_exponentials, {from, s.value(largest), s.value_to(total)}, n, n.n[0], n.n[1]);
    }
    if (s.call.last_nest == 2) {
        s.to.launch(kernel_id::softmax_forward, {from, s.value(largest), s.value(total), s.value_to(s.output())}, n,
                    s.volume(s.output()));
    }
}

inline void softmax_backward(const shard_call& s) {
    const kernel_numbers n = row_numbers(s, s.output());
    const memory_use dy = s.gradient(s.output());
    const memory_use y = s.value(s.output());
    if (s.to.what().implementation == whole_operator) {
        s.to.add(row_softmax{true, to_int(n.n[0]), to_int(n.n[1]), s.type()}, {y, dy, s.gradient_to(s.input())});
        return;
    }
    const int total = s.intermediate(1);
    if (s.emits(total)) {
        s.to.launch_blocks(kernel_id::softmax_total_gradient, {dy, y, s.gradient_to(total)}, n, n.n[0], n.n[1]);
    }
    if (s.emits(s.input())) {
        s.to.launch(kernel_id::softmax_input_gradient, {dy, y, s.gradient(total), s.gradient_to(s.input())}, n,
                    s.volume(s.input()));
    }
}

// ---- look-ups --------------------------------------------------------------------------------------------------------

/// Tokens, columns, rows of the shard's part of the table and the number of its first row.
inline kernel_numbers table_numbers(const shard_call& s) {
    const interval rows = s.region_of(s.parameter(0)).dim[0];
    kernel_numbers n = row_numbers(s, s.output());
    n.n[2] = rows.size();
    n.n[3] = rows.begin;
    return n;
}

inline void look_up_forward(const shard_call& s) {
    s.to.launch(kernel_id::look_up, {s.value(s.input()), s.value(s.parameter(0)), s.value_to(s.output())},
                table_numbers(s), s.volume(s.output()));
}

inline void look_up_backward(const shard_call& s) {
    const kernel_numbers n = table_numbers(s);
    if (s.emits(s.parameter(0))) {
        s.to.launch_blocks(kernel_id::look_up_gradient,
                           {s.value(s.input()), s.gradient(s.output()), s.gradient_to(s.parameter(0))}, n, n.n[2],
                           n.n[0] > n.n[1] ? n.n[0] : n.n[1]);
    }
}

inline void position_forward(const shard_call& s) {
    kernel_numbers n = count_of(s.volume(s.output()));
    n.n[1] = s.volume(s.parameter(0));
    if (!s.in_bf16()) {
        tensor_operation add;
        add.count = n.n[1];
        add.rows = to_int(n.n[0]) / n.n[1];
        add.repeats = true;
        s.to.add(add, {s.value(s.input()), s.value(s.parameter(0)), s.value_to(s.output())});
        return;
    }
    s.to.launch(kernel_id::add_table, {s.value(s.input()), s.value(s.parameter(0)), s.value_to(s.output())}, n, n.n[0]);
}

/// The gradient of the table is summed over the samples.
inline void position_backward(const shard_call& s) {
    const memory_use dy = s.gradient(s.output());
    if (s.emits(s.input())) {
        s.to.add(memory_copy{}, {dy, s.gradient_to(s.input())});
    }
    if (s.emits(s.parameter(0))) {
        kernel_numbers n;
        n.n[0] = s.size(s.output(), 0);
        n.n[1] = s.volume(s.parameter(0));
        if (!s.in_bf16()) { // a bias with as many channels as the table has elements
            s.to.add(bias_gradient{{to_int(n.n[0]), to_int(n.n[1]), 1, 1}}, {dy, s.gradient_to(s.parameter(0))});
            return;
        }
        s.to.launch(kernel_id::column_sums, {dy, s.gradient_to(s.parameter(0))}, n, n.n[1]);
    }
}

} // namespace tessera::cuda::detail
