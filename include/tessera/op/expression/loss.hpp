// SPDX-License-Identifier: Apache-2.0
// Losses that are expressions: the mean or the sum of a function of predictions and targets.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"

namespace tessera {

/// What becomes of the numbers that an expression makes, one for each element.
enum class loss_reduction : std::uint8_t {
    mean,       ///< their mean over all elements of the global batch
    batch_mean, ///< their sum over each sample's elements, and the mean of that over the samples of the global batch
    sum,        ///< their sum over the global batch
};

namespace op {

/// Predictions first, then targets of the same shape, and what else the expression takes, element by element.
constexpr inferred infer_loss(const shape* x, int count) {
    inferred r = infer_alike(x, count);
    if (r.refused.broken == rule::shapes_differ) {
        r.refused.broken = rule::targets_do_not_fit;
    }
    return r;
}

/// The formula of a loss reads inputs alone backward: what it makes is added up and forgotten.
constexpr expression::formula loss_formula(expression::formula f) {
    for (int k = 0; k < f.inputs; ++k) {
        f.reads[k] = expression::detail::inputs_among(f.nodes, nodes_for(f.nodes, f.gradient[k]));
    }
    f.linear = false;
    f.passes_gradient = false;
    f.loss = true;
    return f;
}

template <loss_reduction How>
constexpr index_t divisor_of(const op_attributes&, const shape& output) {
    return How == loss_reduction::sum ? 1 : output[0];
}

/// The record of a loss that is an expression.
constexpr op_record loss_record(const char* name, const expression::formula& f,
                                loss_reduction how = loss_reduction::mean) {
    op_record r = expression_record(name, f);
    r.infer = [](const op_attributes&, const shape* x, int count) { return infer_loss(x, count); };
    r.facts.loss = true;
    r.divisor = how == loss_reduction::sum          ? function_of(divisor_of<loss_reduction::sum>)
                : how == loss_reduction::batch_mean ? function_of(divisor_of<loss_reduction::batch_mean>)
                                                    : nullptr;
    return r;
}

} // namespace op

namespace detail {

template <class Own>
inline constexpr expression::formula loss_formula_of = op::loss_formula(expression::trace<Own>());

template <class Own>
constexpr op_record own_loss_record() {
    op_record r = op::loss_record(name_of_operator<Own>.text, loss_formula_of<Own>);
    if constexpr (requires { Own::reduction; }) {
        r.divisor = op::loss_record("", loss_formula_of<Own>, Own::reduction).divisor;
    }
    return with_members_of<Own>(r);
}
template <class Own>
inline constexpr op_record loss_record_of = own_loss_record<Own>();

} // namespace detail

/// A loss of one's own, the mean of an expression over all elements of the predictions:
///
///     struct squared : ts::row_loss<squared> { static constexpr auto of(auto x, auto target) { return (x - target) *
///         (x - target); } };
///
/// `of` takes the predictions, the targets of the same shape, and up to two numbers more (such as a weight of each
/// element), by what op/expression/value.hpp has; of the predictions alone it is a loss without labels. Gradients flow
/// to whatever of these a network computes. Members that a loss may have: `static constexpr auto reduction =
/// ts::loss_reduction::batch_mean`, `name` and `rows` as those of an elementwise operator.
template <class Own>
struct row_loss : protected expression::functions {
    static constexpr op_attributes attributes{.kind = {&detail::loss_record_of<Own>}};
};

/// A loss with a factor: `struct auxiliary : ts::weighted_loss<ts::mse_loss, ts::weight<3, 10>> {};`
template <class Loss, class... Options>
struct weighted_loss {
    static constexpr op_attributes attributes = [] {
        op_attributes a = Loss::attributes;
        (Options::apply(a), ...);
        return a;
    }();
};

} // namespace tessera

#include "tessera/base/end_header.inl"
