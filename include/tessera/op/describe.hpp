// SPDX-License-Identifier: Apache-2.0
// From an operator's attributes and the shapes of its inputs to its description.
#pragma once

#include "tessera/op/batch_norm.hpp"
#include "tessera/op/concat.hpp"
#include "tessera/op/conv2d.hpp"
#include "tessera/op/cross_entropy.hpp"
#include "tessera/op/elementwise.hpp"
#include "tessera/op/embedding.hpp"
#include "tessera/op/expert.hpp"
#include "tessera/op/layer_norm.hpp"
#include "tessera/op/linear.hpp"
#include "tessera/op/matmul.hpp"
#include "tessera/op/pool.hpp"
#include "tessera/op/softmax.hpp"
#include "tessera/op/transposed_conv2d.hpp"

namespace tessera {

/// The description of an operator. The shapes must fit it (see op/infer.hpp, which says why when they do not).
constexpr description describe(const op_attributes& a, const shape* inputs, int count) {
    switch (a.kind) {
    case op_kind::conv2d:
        return op::describe_conv2d(a, inputs[0]);
    case op_kind::linear:
        return op::describe_linear(a, inputs[0]);
    case op_kind::max_pool:
    case op_kind::average_pool:
        return op::describe_pool(a, inputs[0]);
    case op_kind::global_average_pool:
        return op::describe_global_average_pool(a, inputs[0]);
    case op_kind::concat:
        return op::describe_concat(a, inputs, count);
    case op_kind::flatten:
        return op::describe_flatten(a, inputs[0]);
    case op_kind::batch_norm:
        return op::describe_batch_norm(a, inputs[0]);
    case op_kind::layer_norm:
        return op::describe_layer_norm(a, inputs[0]);
    case op_kind::softmax:
        return op::describe_softmax(a, inputs[0]);
    case op_kind::matmul:
        return op::describe_matmul(a, inputs[0], inputs[1]);
    case op_kind::embedding:
        return op::describe_embedding(a, inputs[0]);
    case op_kind::position_embedding:
        return op::describe_position_embedding(a, inputs[0]);
    case op_kind::slice:
        return op::describe_slice(a, inputs[0]);
    case op_kind::transposed_conv2d:
        return op::describe_transposed_conv2d(a, inputs[0]);
    case op_kind::expert_linear:
        return op::describe_expert_linear(a, inputs[0]);
    case op_kind::route:
        return op::describe_route(a, inputs[0]);
    case op_kind::cross_entropy:
        return op::describe_cross_entropy(a, inputs[0]);
    case op_kind::relu:
    case op_kind::sigmoid:
    case op_kind::tanh:
    case op_kind::gelu:
    case op_kind::add:
    case op_kind::multiply:
    case op_kind::dropout:
    case op_kind::channel_dropout:
        break;
    }
    return op::describe_elementwise(a, inputs[0], count);
}

} // namespace tessera
