// SPDX-License-Identifier: Apache-2.0
// The library's operators, and what a record says of an operator's use. The list of all is op/library.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/abs.hpp"
#include "tessera/op/add.hpp"
#include "tessera/op/add_constant.hpp"
#include "tessera/op/attention.hpp"
#include "tessera/op/batch_norm.hpp"
#include "tessera/op/bilinear.hpp"
#include "tessera/op/broadcast_to.hpp"
#include "tessera/op/clamp.hpp"
#include "tessera/op/concat.hpp"
#include "tessera/op/contrastive_loss.hpp"
#include "tessera/op/conv2d.hpp"
#include "tessera/op/conv3d.hpp"
#include "tessera/op/counted_cross_entropy.hpp"
#include "tessera/op/cross_entropy.hpp"
#include "tessera/op/divide.hpp"
#include "tessera/op/dropout.hpp"
#include "tessera/op/elu.hpp"
#include "tessera/op/embedding.hpp"
#include "tessera/op/exp.hpp"
#include "tessera/op/expert.hpp"
#include "tessera/op/fixed_batch_norm.hpp"
#include "tessera/op/flatten.hpp"
#include "tessera/op/flip.hpp"
#include "tessera/op/gate.hpp"
#include "tessera/op/gather.hpp"
#include "tessera/op/gelu.hpp"
#include "tessera/op/group_norm.hpp"
#include "tessera/op/hard_swish.hpp"
#include "tessera/op/image_norm.hpp"
#include "tessera/op/layer_norm.hpp"
#include "tessera/op/leaky_relu.hpp"
#include "tessera/op/linear.hpp"
#include "tessera/op/log.hpp"
#include "tessera/op/losses.hpp"
#include "tessera/op/matmul.hpp"
#include "tessera/op/maximum.hpp"
#include "tessera/op/minimum.hpp"
#include "tessera/op/multiply.hpp"
#include "tessera/op/negate.hpp"
#include "tessera/op/pad.hpp"
#include "tessera/op/permute.hpp"
#include "tessera/op/pool.hpp"
#include "tessera/op/power.hpp"
#include "tessera/op/relu.hpp"
#include "tessera/op/reshape.hpp"
#include "tessera/op/rms_norm.hpp"
#include "tessera/op/roll.hpp"
#include "tessera/op/rotary.hpp"
#include "tessera/op/router_losses.hpp"
#include "tessera/op/routing.hpp"
#include "tessera/op/row_losses.hpp"
#include "tessera/op/scale.hpp"
#include "tessera/op/sigmoid.hpp"
#include "tessera/op/silu.hpp"
#include "tessera/op/slice.hpp"
#include "tessera/op/softmax.hpp"
#include "tessera/op/softplus.hpp"
#include "tessera/op/sqrt.hpp"
#include "tessera/op/stop_gradient.hpp"
#include "tessera/op/straight_through_round.hpp"
#include "tessera/op/subtract.hpp"
#include "tessera/op/tanh.hpp"
#include "tessera/op/transposed_conv2d.hpp"
#include "tessera/op/upsample.hpp"
#include "tessera/op/vocabulary_loss.hpp"

namespace tessera {

constexpr const op_record& record_of(const op_attributes& a) { return *a.kind.record; }

/// How many integers, from 0, an operator takes as its input `slot`, of inputs of these shapes: classes of a loss, rows
/// of an embedding; 0 for numbers.
constexpr index_t index_bound_of(const op_attributes& a, const shape* inputs, int slot) {
    const auto& bound = record_of(a).index_bound;
    return bound != nullptr ? bound(a, inputs, slot) : 0;
}

/// The weight of the newest statistics in an operator's running state; 0 for an operator that has none.
constexpr double momentum_of(const op_attributes& a) {
    return record_of(a).momentum == nullptr ? 0 : record_of(a).momentum(a);
}

/// What indices do not say of a use: of an input that is broadcast, the gradient is a sum and not that of the output.
constexpr op_facts facts_of(const op_attributes& a, const shape* inputs, int count, const shape& output) {
    op_facts f = record_of(a).facts;
    for (int k = 0; k < count && !f.view; ++k) {
        f.passes_gradient = f.passes_gradient && inputs[k] == output;
    }
    return f;
}

/// The description of an operator. The shapes must fit it (see infer(), which says why when they do not).
constexpr description describe(const op_attributes& a, const shape* inputs, int count) {
    const op_record& r = record_of(a);
    description d = r.describe(a, inputs, count);
    d.facts = facts_of(a, inputs, count, d.operands[d.output()].extents);
    return d;
}

/// The shape of an operator's output, or the rule that its inputs break.
constexpr inferred infer(const op_attributes& a, const shape* inputs, int count) {
    const op_record& r = record_of(a);
    const int least = r.inputs > 0 ? r.inputs : r.inputs + 2;
    if (count < least || count > (r.inputs > 0 ? r.inputs : max_inputs)) {
        return detail::refuse(rule::wrong_number_of_inputs, count, least);
    }
    for (int d = 0; d < inputs[0].rank; ++d) {
        if (inputs[0][d] < 1) {
            return detail::refuse(d == 0 ? rule::batch_is_empty : rule::extent_is_zero, inputs[0][d], 1);
        }
    }
    return r.infer(a, inputs, count);
}

/// What the sum of a loss's output is divided by to be the loss.
constexpr double loss_divisor(const op_attributes& a, const shape& output) {
    const auto& of = record_of(a).divisor;
    return static_cast<double>(of == nullptr ? output.volume() : of(a, output));
}

/// What a loss compares its first input with.
struct label_tensor {
    shape extents;
    element type = element::i32;
};

/// The labels of a loss for a first input of shape `x`. Where the loss refuses `x`, which infer() says of both, only
/// their shape means something.
constexpr label_tensor labels_of(const op_attributes& a, const shape& x) {
    const auto& of = record_of(a).labels;
    const shape both[2] = {x, of == nullptr ? x : of(a, x)};
    label_tensor labels{both[1]};
    if (!infer(a, both, 2).refused) {
        const description d = describe(a, both, 2);
        labels.type = d.operands[d.find_operand(operand_kind::input, 1)].type;
    }
    return labels;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
