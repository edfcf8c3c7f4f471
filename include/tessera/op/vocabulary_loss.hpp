// SPDX-License-Identifier: Apache-2.0
// The last product of a language model and its cross-entropy in one: x[N,C] or [N,T,C], w[V,C] and labels (int32) ->
// losses[N] or [N,T]. The logits [N,T,V] are in memory block by block alone, forward and backward.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/counted_cross_entropy.hpp"
#include "tessera/op/options.hpp"

namespace tessera::op {

struct vocabulary_loss_attributes {
    index_t out = 0;      ///< words
    double smoothing = 0; ///< see label_smoothing
    static constexpr attribute_field fields[] = {{"out", 1, 1}, number_field("smoothing")};

    /// What a row's target has at a word, its label's or another.
    constexpr double target(bool is_label) const {
        return (is_label ? 1 - smoothing : 0) + smoothing / static_cast<double>(out);
    }
};

/// The same with rows that do not count.
struct masked_vocabulary_loss_attributes : vocabulary_loss_attributes {
    index_t ignored = -100;
    static constexpr attribute_field fields[] = {{"out", 1, 1}, number_field("smoothing"), {"ignored", 1, INT32_MIN}};
};

/// Nests: the maximum of a row's logits, the sum of exponentials, the loss, as in cross_entropy; before the loss, where
/// not all rows count, how many do. Every pass makes the logits that it needs again. A split of the words leaves
/// partial maxima, sums and losses, three reductions of one number per row; the gradient of x is then a partial sum.
/// Backward is 3 products to forward's 1: the logits again, and the two gradients, which one pass makes.
constexpr description describe_vocabulary_loss(index_t words, const shape& x, bool counts_rows) {
    detail::describer w;
    const index_t features = x[x.rank - 1];
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int t = x.rank == 3 ? w.add_loop(loop_name::position, x[1]) : -1;
    const int k = w.add_loop(loop_name::channel, words);
    const int c = w.add_loop(loop_name::reduction, features, true);
    const auto of_rows = [&](operand_kind kind, int slot, element type = element::f32) {
        const int o = w.add_operand(kind, slot, type);
        w.index(o, x[0], n);
        if (t >= 0) {
            w.index(o, x[1], t);
        }
        return o;
    };
    const int input = of_rows(operand_kind::input, 0);
    w.index(input, features, c);
    const int labels = of_rows(operand_kind::input, 1, element::i32);
    const int weights = w.add_operand(operand_kind::parameter, 0);
    w.index(weights, words, k);
    w.index(weights, features, c);
    const int largest = of_rows(operand_kind::intermediate, 0);
    const int total = of_rows(operand_kind::intermediate, 1);
    const int counted = counts_rows ? w.add_operand(operand_kind::intermediate, 2) : -1;
    if (counts_rows) {
        w.index(counted, 1, affine{}); // one number
    }
    const int output = of_rows(operand_kind::output, 0);
    for (const int o : {labels, largest, total, counted}) {
        if (o >= 0) {
            w.d.operands[o].differentiable = false;
        }
    }
    const std::uint32_t all = bit(input) | bit(labels) | bit(weights) | bit(largest) | bit(total) |
                              (counts_rows ? bit(counted) : std::uint32_t{0});
    w.d.operands[input].gradient_reads = all;
    w.d.operands[input].gradient_times = 2; // the logits again
    w.d.operands[weights].gradient_reads = all;
    const std::uint32_t product = bit(input) | bit(weights);
    const std::uint32_t logits = w.all_loops() & ~bit(c);
    w.add_nest(w.all_loops(), product, largest, reducer::max, 2);
    w.add_nest(logits, product | bit(largest), total, reducer::sum, 4);
    if (counts_rows) { // a row by the shard that has its label's word
        w.add_nest(logits, bit(labels), counted, reducer::sum, 1);
    }
    w.add_nest(logits, all, output, reducer::sum, 2);
    return w.d;
}

constexpr inferred infer_vocabulary_loss(index_t words, const shape* x) {
    const inferred r = detail::infer_rank(x[0], 2, 3, words);
    if (r.refused) {
        return r;
    }
    const shape rows = x[0].rank == 3 ? make_shape(x[0][0], x[0][1]) : make_shape(x[0][0]);
    if (x[1].rank != rows.rank) {
        return detail::refuse(rule::labels_do_not_fit, x[1].rank, rows.rank);
    }
    const int d = detail::first_difference(x[1], rows);
    return d >= 0 ? detail::refuse(rule::labels_do_not_fit, x[1][d], rows[d]) : inferred{{}, rows};
}

constexpr shape rows_of_sequences(const op_attributes&, const shape& x) {
    return x.rank == 3 ? make_shape(x[0], x[1]) : make_shape(x[0]);
}

inline constexpr op_record vocabulary_loss_record{
    .name = "vocabulary_loss",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_vocabulary_loss(a.as<vocabulary_loss_attributes>().out, x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_vocabulary_loss(a.as<vocabulary_loss_attributes>().out, *x, false); },
    .inputs = 2,
    .facts = {.work = work_kind::matrix_product, .loss = true, .joint_gradients = true},
    .index_bound = [](const op_attributes& a, const shape*,
                      int slot) { return slot == 1 ? a.as<vocabulary_loss_attributes>().out : 0; },
    .labels = function_of(rows_of_sequences),
    .own = list_of<vocabulary_loss_attributes>(),
};

inline constexpr op_record masked_vocabulary_loss_record{
    .name = "masked_vocabulary_loss",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_vocabulary_loss(a.as<masked_vocabulary_loss_attributes>().out, x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_vocabulary_loss(a.as<masked_vocabulary_loss_attributes>().out, *x, true); },
    .inputs = 2,
    .facts = {.work = work_kind::matrix_product, .loss = true, .joint_gradients = true},
    .index_bound = [](const op_attributes& a, const shape*,
                      int slot) { return slot == 1 ? a.as<masked_vocabulary_loss_attributes>().out : 0; },
    .labels = function_of(rows_of_sequences),
    .ignored = [](const op_attributes& a) { return a.as<masked_vocabulary_loss_attributes>().ignored; },
    .row_weight =
        [](const op_attributes& a, const loss_rows& r) {
            double count = 0;
            for (index_t i = 0; i < r.count; ++i) {
                count += r.labels[i] == a.as<masked_vocabulary_loss_attributes>().ignored ? 0 : 1;
            }
            return count;
        },
    .own = list_of<masked_vocabulary_loss_attributes>(),
};

} // namespace tessera::op

namespace tessera {

/// vocabulary_loss<Words, label_smoothing<0>, weight<1>>: linear<Words, no_bias> and cross_entropy in one, which keeps
/// no logits. It stands at a network's end in the place of both, alone or as tied<vocabulary_loss<Words>, embedding>.
template <index_t Words, class... Options>
struct vocabulary_loss {
    static constexpr op_attributes attributes =
        detail::make_attributes<op_kind{&op::vocabulary_loss_record}, Options...>(
            op::vocabulary_loss_attributes{.out = Words});
};
/// The same with masked_cross_entropy. Options: ignore<-100>, label_smoothing, weight.
template <index_t Words, class... Options>
struct masked_vocabulary_loss {
    static constexpr op_attributes attributes =
        detail::make_attributes<op_kind{&op::masked_vocabulary_loss_record}, Options...>(
            op::masked_vocabulary_loss_attributes{{.out = Words}});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
