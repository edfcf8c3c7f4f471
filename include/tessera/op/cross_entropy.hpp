// SPDX-License-Identifier: Apache-2.0
// Softmax and cross-entropy in one: logits[N,K], [N,T,K], [N,K,H,W] or [N,K,D,H,W] and labels (int32) -> losses, both
// [N], [N,T], [N,H,W] or [N,D,H,W].
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

/// Nests: the maximum over the classes, the sum of exponentials, the loss. A split of the classes leaves partial
/// maxima, partial sums and, since only one class is the label's, partial losses: three reductions of one number per
/// row instead of the logits. The gradient, softmax minus one at the label, needs no further reduction.
constexpr description describe_cross_entropy(const op_attributes&, const shape& x) {
    detail::describer w;
    const bool sequence = x.rank == 3;
    const index_t classes = x[sequence ? 2 : 1];
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int k = w.add_loop(loop_name::channel, classes);
    const int t = sequence ? w.add_loop(loop_name::position, x[1]) : -1;
    int pixel[max_rank] = {};
    for (int d = 2; d < x.rank && !sequence; ++d) {
        pixel[d] = w.add_loop(dimension_name(d, x.rank), x[d]);
    }
    const auto index = [&](int which, bool with_classes) {
        w.index(which, x[0], n);
        if (sequence) {
            w.index(which, x[1], t);
        }
        if (with_classes) {
            w.index(which, classes, k);
        }
        for (int d = 2; d < x.rank && !sequence; ++d) {
            w.index(which, x[d], pixel[d]);
        }
    };
    const auto rows = [&](int which) { index(which, false); };
    const int logits = w.add_operand(operand_kind::input, 0);
    index(logits, true);
    const int labels = w.add_operand(operand_kind::input, 1, element::i32);
    rows(labels);
    w.d.operands[labels].differentiable = false;
    const int largest = w.add_operand(operand_kind::intermediate, 0);
    rows(largest);
    w.d.operands[largest].differentiable = false;
    const int total = w.add_operand(operand_kind::intermediate, 1);
    rows(total);
    w.d.operands[total].differentiable = false;
    const int output = w.add_operand(operand_kind::output, 0);
    rows(output);
    w.d.operands[logits].gradient_reads = bit(logits) | bit(labels) | bit(largest) | bit(total);
    w.add_nest(w.all_loops(), bit(logits), largest, reducer::max, 1);
    w.add_nest(w.all_loops(), bit(logits) | bit(largest), total, reducer::sum, 4);
    w.add_nest(w.all_loops(), bit(logits) | bit(labels) | bit(largest) | bit(total), output, reducer::sum, 2);
    return w.d;
}

/// The shape of the labels, and of the losses, of logits: all of them but the classes.
constexpr shape rows_of(const shape& logits) {
    return logits.rank == 5   ? make_shape(logits[0], logits[2], logits[3], logits[4])
           : logits.rank == 4 ? make_shape(logits[0], logits[2], logits[3])
           : logits.rank == 3 ? make_shape(logits[0], logits[1])
                              : make_shape(logits[0]);
}

constexpr inferred infer_cross_entropy(const shape& x, const shape& labels) {
    if (x.rank < 2 || x.rank > max_rank) {
        return detail::refuse(rule::input_has_wrong_rank, x.rank, 2);
    }
    const shape rows = rows_of(x);
    if (labels.rank != rows.rank) {
        return detail::refuse(rule::labels_do_not_fit, labels.rank, rows.rank);
    }
    const int d = detail::first_difference(labels, rows);
    if (d >= 0) {
        return detail::refuse(rule::labels_do_not_fit, labels[d], rows[d]);
    }
    return {{}, rows};
}

inline constexpr op_record cross_entropy_record{
    .name = "cross_entropy",
    .infer = [](const op_attributes&, const shape* x, int) { return infer_cross_entropy(x[0], x[1]); },
    .describe = [](const op_attributes& a, const shape* x, int) { return describe_cross_entropy(a, *x); },
    .inputs = 2,
    .facts = {.loss = true},
    .index_bound = [](const op_attributes&, const shape* x,
                      int slot) { return slot == 1 ? x[0][x[0].rank == 3 ? 2 : 1] : 0; },
    .labels = [](const op_attributes&, const shape& x) { return rows_of(x); },
    .takes_logits = true,
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::cross_entropy{&op::cross_entropy_record};

/// Softmax cross-entropy of logits and integer labels, averaged over the global batch; weight<a, b> scales it.
struct cross_entropy : detail::simple_layer<op_kind::cross_entropy> {};
template <class... Options>
struct weighted_cross_entropy : detail::simple_layer<op_kind::cross_entropy, Options...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
