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
        const auto chosen = select(kept > 0, 1, 0);
        const auto choices = w.number(static_cast<double>(o.top));
        w.loss(n) = w.sum(e, stop_gradient(w.mean(t, chosen)) * w.mean(t, probability)) * w.size(e) / choices;
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

// Balance without a loss (Wang et al. 2024, "Auxiliary-loss-free load balancing strategy for mixture-of-experts"; as
// DeepSeek-V3 has it): experts are chosen by scores with a number for each expert added, which enters nothing else, and
// which falls where an expert gets more than its share.

/// x[N,T,E], bias[E] -> x + bias.
struct choice_bias_body : operation<choice_bias_body> {
    static constexpr const char* name = "choice_bias";
    static constexpr void body(auto& w) {
        const auto [n, t, e] = w.loops(sample, position, channel);
        const auto x = w.input(n, t, e);
        w.output(n, t, e) = x + w.parameter(zeros, e);
    }
};

/// A loss that is always 0, with the gradient by which a bias learns: an expert's share of the choices in a sample
/// less the even share, 1 / E. So it is summed over samples, devices and micro-batches as any gradient is, and whatever
/// the optimizer does of it is the update. (The papers take the sign of the batch's, or this.)
struct choice_bias_loss_body : operation<choice_bias_loss_body> {
    static constexpr const char* name = "choice_bias_loss";
    using options = load_balance_options;
    static constexpr void body(auto& w, const options& o) {
        const auto [n, t, e] = w.loops(sample, position, channel);
        const auto kept = w.input(n, t, e);
        const auto bias = w.parameter(zeros, e);
        const auto share = w.mean(t, select(kept == 0, 0, 1)) / w.number(static_cast<double>(o.top));
        const auto sum = w.sum(e, bias * stop_gradient(share - 1 / w.size(e)));
        w.loss(n) = sum - stop_gradient(sum);
    }
};

/// Scores and what keep_top leaves of them with their bias, both [N,T,E] -> gates: the chosen scores, divided by their
/// sum.
struct chosen_gates_body : operation<chosen_gates_body> {
    static constexpr const char* name = "chosen_gates";
    static constexpr void body(auto& w) {
        const auto [n, t, e] = w.loops(sample, position, channel);
        const auto score = w.input(n, t, e);
        const auto kept = w.input(n, t, e);
        const auto own = select(kept == 0, 0, score);
        w.output(n, t, e) = own / (w.sum(e, own) + 1e-20);
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
/// choice_bias<>: a number for each expert, added to its scores; see bias_balanced<> in part/routing.hpp.
template <class... Options>
struct choice_bias : detail::simple_layer<op_kind{&detail::operation_record_of<op::choice_bias_body>}, Options...> {};
/// choice_bias_loss<top<k>, weight<1, 10>>: what makes it learn.
template <class... Options>
struct choice_bias_loss : detail::generated_layer<op::choice_bias_loss_body, Options...> {};
/// The gates of the experts that were chosen with a bias.
struct chosen_gates : detail::simple_layer<op_kind{&detail::operation_record_of<op::chosen_gates_body>}> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
