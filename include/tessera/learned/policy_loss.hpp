// SPDX-License-Identifier: Apache-2.0
// The loss of a policy gradient with a coefficient for every choice of a row, and a bonus for entropy.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/nest/record.hpp"

namespace tessera::learned {

namespace detail {

/// The logarithm of the sum of exp(x) over the choices d of each row, and the entropy of its softmax.
struct row_terms {
    expression::value log_sum;
    expression::value entropy;
};
constexpr row_terms row_terms_of(auto& w, const auto& d, const expression::value& x) {
    const auto top = expression::stop_gradient(w.max(d, x));
    const auto log_sum = expression::log(w.sum(d, expression::exp(x - top))) + top;
    return {log_sum, log_sum - w.sum(d, expression::exp(x - log_sum) * x)};
}

} // namespace detail

/// The mean over rows b of -(sum over d of c_d log p_d + bonus H), where p is the softmax of the row's logits and H = -
/// sum of p_d log p_d its entropy. Inputs, in order: logits[B,D], coefficients[B,D], bonuses[B,1]. With c = advantage
/// at the chosen d, and 0 elsewhere, this is REINFORCE (Williams 1992); with c_d = p_d A_d, p as it was when the row
/// was made, its gradient is that of the expected advantage, - sum of p_d A_d. Coefficients take no gradient.
struct policy_loss : operation<policy_loss> {
    static constexpr const char* name = "policy_loss";
    static constexpr void body(auto& w) {
        const auto [b, d] = w.loops(sample, channel);
        const auto x = w.input(b, d);
        const auto coefficient = w.input(b, d);
        const auto bonus = w.input(b, nests::loop_handle());
        const auto row = detail::row_terms_of(w, d, x);
        w.loss(b) = -(w.sum(d, coefficient * (x - row.log_sum)) + bonus * row.entropy);
    }
};

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
