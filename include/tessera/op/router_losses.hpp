// SPDX-License-Identifier: Apache-2.0
// Losses beside the network's own that keep a router of tokens in order. They are written as loop nests.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/nest/record.hpp"

namespace tessera {

namespace op {

struct load_balance_options {
    index_t top = 1; ///< experts that a token is sent to
    static constexpr attribute_field fields[] = {{"top", 1, 1}};
};

/// Switch Transformer (Fedus et al. 2022), equations 4 to 6, of each sample: E times the sum over experts of f_e P_e,
/// f_e being the share of the tokens' choices that fall on expert e, and P_e the mean of their probabilities for it;
/// 1 where both are even. Probabilities [N,T,E] and what keep_top leaves of them -> losses [N]. Gradients flow by P.
struct load_balance_body : operation<load_balance_body> {
    static constexpr const char* name = "load_balance_loss";
    using options = load_balance_options;
    static constexpr void body(auto& w, const options& o) {
        const auto [n, t, e] = w.loops(sample, position, channel);
        const auto probability = w.input(n, t, e);
        const auto kept = w.input(n, t, e);
        const auto chosen = stop_gradient(select(kept > 0, 1, 0));
        const auto choices = w.number(static_cast<double>(o.top));
        w.loss(n) = w.sum(e, w.mean(t, chosen) * w.mean(t, probability)) * w.size(e) / choices;
    }
};

/// The z-loss of ST-MoE (Zoph et al. 2022), equation 5, of each token: the square of the logarithm of the sum of the
/// exponentials of its logits, which keeps them small. [N,T,E] -> [N,T].
struct router_z_body : operation<router_z_body> {
    static constexpr const char* name = "router_z_loss";
    static constexpr void body(auto& w) {
        const auto [n, t, e] = w.loops(sample, position, channel);
        const auto x = w.input(n, t, e);
        const auto largest = stop_gradient(w.max(e, x));
        w.loss(n, t) = square(log(w.sum(e, exp(x - largest))) + largest);
    }
};

} // namespace op

/// load_balance_loss<top<k>, weight<1, 100>>, see load_balance<> in part/routing.hpp.
template <class... Options>
struct load_balance_loss : detail::generated_layer<op::load_balance_body, Options...> {};
/// router_z_loss<weight<1, 1000>>: of the router's logits. The gradient that flows back is 2 log(sum) times their
/// softmax.
template <class... Options>
struct router_z_loss : detail::simple_layer<op_kind{&detail::operation_record_of<op::router_z_body>}, Options...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
