// SPDX-License-Identifier: Apache-2.0
// Losses of policies that choose a device for every row: the clipped ratio of PPO, and the plain policy gradient of
// REINFORCE.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/policy_loss.hpp"
#include "tessera/op/number.hpp"

namespace tessera::learned {

namespace detail {

struct ppo_loss_options {
    double clip = 0.2;
};

/// The logarithm of a choice's probability, and the entropy of each row, of logits x over the choices d. `chosen` is
/// the number of the choice.
struct choice_terms {
    expression::value log_probability;
    expression::value entropy;
};
constexpr choice_terms terms_of(auto& w, const auto& d, const expression::value& x, const expression::value& chosen) {
    const row_terms row = row_terms_of(w, d, x);
    return {w.sum(d, expression::select(w.index(d) == chosen, x, 0)) - row.log_sum, row.entropy};
}

struct ppo_loss_body : operation<ppo_loss_body> {
    static constexpr const char* name = "ppo_loss";
    using options = ppo_loss_options;
    static constexpr void body(auto& w, const options& o) {
        const auto [b, k, n, d] = w.loops(sample, height, position, channel);
        const auto x = w.input(b, n, d);
        const auto chosen = w.integers(d, b, k, n);
        const auto before = w.input(b, k, n);
        const auto advantage = w.input(b, k);
        const auto weight = w.input(b, n);
        const auto bonus = w.input(b, nests::loop_handle());
        const auto least = w.number(1 - o.clip);
        const auto most = w.number(1 + o.clip);
        const auto terms = terms_of(w, d, x, chosen);
        const auto ratio = exp(terms.log_probability - before);
        const auto clipped = min(ratio * advantage, clamp(ratio, least, most) * advantage);
        w.loss(b, k, n) = -weight * (clipped + bonus * terms.entropy);
    }
};

} // namespace detail

/// The clipped objective of PPO (Schulman et al. 2017, equation 7, as recalled) of policies that choose for every row
/// by itself, with a bonus for entropy: the mean over all [b, k, n] of -weight (min(r A, clip(r, 1 - Clip, 1 + Clip) A)
/// + bonus H), where r = exp(log p(choice) - before) is the ratio of a row's probabilities and H the entropy of the
/// row. Inputs, in order:
///   logits[B,N,D]      of B graphs with N rows and D choices
///   choices[B,K,N]     integers below D: K samples of every graph
///   before[B,K,N]      logarithms of the choices' probabilities when they were drawn
///   advantages[B,K]    A, one for each sample
///   weights[B,N]       what each row counts; N / (rows that count), and 0 for padding, makes the mean one over the
///                      rows that count
///   bonuses[B,1]       the coefficient of the entropy
/// So r is the ratio of one row and not of the whole placement, whose ratio, a product over rows, leaves the clip's
/// range at once where rows are many.
template <number Clip = 0.2>
struct ppo_loss {
    static_assert(Clip.value() > 0 && Clip.value() < 1, "tessera: PPO's clip is between 0 and 1");
    static constexpr op_attributes attributes =
        tessera::detail::generated_attributes<detail::ppo_loss_body>(detail::ppo_loss_options{Clip.value()});
};

/// REINFORCE (Williams 1992) with a bonus for entropy: the mean over all [b, t] of -weight (A log p(choice) + bonus H).
/// Inputs, in order: logits[B,T,D], choices[B,T], advantages[B,1], weights[B,T], bonuses[B,1].
struct reinforce_loss : operation<reinforce_loss> {
    static constexpr const char* name = "reinforce_loss";
    static constexpr void body(auto& w) {
        const auto [b, t, d] = w.loops(sample, position, channel);
        const auto x = w.input(b, t, d);
        const auto chosen = w.integers(d, b, t);
        const auto advantage = w.input(b, nests::loop_handle());
        const auto weight = w.input(b, t);
        const auto bonus = w.input(b, nests::loop_handle());
        const auto terms = detail::terms_of(w, d, x, chosen);
        w.loss(b, t) = -weight * (advantage * terms.log_probability + bonus * terms.entropy);
    }
};

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
