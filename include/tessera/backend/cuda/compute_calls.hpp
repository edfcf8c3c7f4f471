// SPDX-License-Identifier: Apache-2.0
// A compute task as calls: one row for every kind of operator.
#pragma once

#include "tessera/backend/cuda/expert_calls.hpp"
#include "tessera/backend/cuda/matmul_calls.hpp"
#include "tessera/backend/cuda/norm_calls.hpp"
#include "tessera/backend/cuda/sequence_calls.hpp"
#include "tessera/backend/cuda/transposed_calls.hpp"
#include "tessera/plan/loss_rows.hpp"

namespace tessera::cuda::detail {

inline void compose_forward(const shard_call& s) {
    switch (s.attributes().kind) {
    case op_kind::conv2d:
        return convolution_forward(s);
    case op_kind::linear:
        return linear_forward(s);
    case op_kind::max_pool:
    case op_kind::average_pool:
        return pool_forward(s);
    case op_kind::global_average_pool:
        return global_pool_forward(s);
    case op_kind::relu:
    case op_kind::sigmoid:
    case op_kind::tanh:
    case op_kind::gelu:
        return activation_forward(s);
    case op_kind::add:
    case op_kind::multiply:
        return combine_forward(s);
    case op_kind::concat:
        return concat_forward(s);
    case op_kind::flatten:
    case op_kind::slice: // its tile of the input is what it takes of it
        return s.to.add(memory_copy{}, {s.value(s.input()), s.value_to(s.output())}), void();
    case op_kind::dropout:
    case op_kind::channel_dropout:
        return dropout_forward(s);
    case op_kind::batch_norm:
        return norm_forward(s);
    case op_kind::layer_norm:
        return layer_norm_forward(s);
    case op_kind::softmax:
        return softmax_forward(s);
    case op_kind::matmul:
        return matmul_forward(s);
    case op_kind::embedding:
        return look_up_forward(s);
    case op_kind::position_embedding:
        return position_forward(s);
    case op_kind::transposed_conv2d:
        return transposed_forward(s);
    case op_kind::expert_linear:
        return expert_forward(s);
    case op_kind::route:
        return route_forward(s);
    case op_kind::cross_entropy:
        return cross_entropy_forward(s);
    }
}

inline void compose_backward(const shard_call& s) {
    switch (s.attributes().kind) {
    case op_kind::conv2d:
        return convolution_backward(s);
    case op_kind::linear:
        return linear_backward(s);
    case op_kind::max_pool:
    case op_kind::average_pool:
        return pool_backward(s);
    case op_kind::global_average_pool:
        return global_pool_backward(s);
    case op_kind::relu:
    case op_kind::sigmoid:
    case op_kind::tanh:
    case op_kind::gelu:
        return activation_backward(s);
    case op_kind::multiply:
        return multiply_backward(s);
    case op_kind::concat:
        return concat_backward(s);
    case op_kind::slice:
    case op_kind::add:
    case op_kind::flatten: // plans rename the gradients of these two instead
        for (int k = 0; s.input(k) >= 0; ++k) {
            if (s.emits(s.input(k))) {
                s.to.add(memory_copy{}, {s.gradient(s.output()), s.gradient_to(s.input(k))});
            }
        }
        return;
    case op_kind::dropout:
    case op_kind::channel_dropout:
        return dropout_backward(s);
    case op_kind::batch_norm:
        return norm_backward(s);
    case op_kind::layer_norm:
        return layer_norm_backward(s);
    case op_kind::softmax:
        return softmax_backward(s);
    case op_kind::matmul:
        return matmul_backward(s);
    case op_kind::embedding:
        return look_up_backward(s);
    case op_kind::position_embedding:
        return position_backward(s);
    case op_kind::transposed_conv2d:
        return transposed_backward(s);
    case op_kind::expert_linear:
        return expert_backward(s);
    case op_kind::route:
        return route_backward(s);
    case op_kind::cross_entropy:
        return cross_entropy_backward(s);
    }
}

/// Adds the losses that are not finite to the device's count, or begins it.
inline void count_not_finite(composer& to, const graph_view& g) {
    const task& t = to.what();
    const int rows = loss_rows_of(to.of(), g, t);
    kernel_numbers n;
    n.n[0] = to.tile_at(rows).elements;
    for (const task& x : to.of().tasks) {
        if (x.flag == t.flag && x.kind == task_kind::compute && x.what == pass::forward) {
            n.n[1] = &x == &t ? 0 : 1;
            break;
        }
    }
    kernel_launch k = composer::make(kernel_id::count_not_finite, 2, n);
    to.add(static_cast<kernel_launch&&>(k), {to.read(rows), to.write(t.flag)});
}

/// Puts the calls of a compute task into `to`.
inline void compose_compute(composer& to, const graph_view& g, algorithm_table& algorithms) {
    const task& t = to.what();
    if (t.fused) {
        return; // done by the call before it
    }
    const description d = g.describe(t.op);
    const compute_call c = call_of(to.of(), t, g, d);
    const shard_call s{to, d, c, g, algorithms};
    to.type = s.type();
    switch (t.what) {
    case pass::forward:
        compose_forward(s);
        return t.flag >= 0 ? count_not_finite(to, g) : void();
    case pass::recompute:
    case pass::evaluate:
        return compose_forward(s);
    case pass::backward:
    case pass::backward_input:
    case pass::backward_weight:
        return compose_backward(s);
    case pass::update:
        return norm_update(s);
    }
}

} // namespace tessera::cuda::detail
