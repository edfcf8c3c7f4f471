// SPDX-License-Identifier: Apache-2.0
// Losses of numbers: predictions and targets of one shape, element by element, averaged over the global batch.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/loss.hpp"

namespace tessera {

/// Mean squared error: the mean of (x - target)^2.
struct mse_loss : row_loss<mse_loss> {
    static constexpr const char* name = "mse_loss";
    static constexpr auto of(auto x, auto target) { return square(x - target); }
};

/// Mean absolute error: the mean of |x - target|, whose gradient is 0 where they are equal.
struct l1_loss : row_loss<l1_loss> {
    static constexpr const char* name = "l1_loss";
    static constexpr auto of(auto x, auto target) { return abs(x - target); }
};

/// (x - target)^2 / 2 up to a difference of Delta, Delta (|x - target| - Delta / 2) beyond (Huber 1964, "Robust
/// estimation of a location parameter").
template <number Delta = 1>
struct huber_loss : row_loss<huber_loss<Delta>> {
    static_assert(Delta.value() > 0, "tessera: the delta of a Huber loss is a positive number");
    static constexpr auto of(auto x, auto target) {
        constexpr double delta = Delta.value();
        const auto size = expression::abs(x - target); // a template does not see the functions of its base
        return expression::select(size <= delta, expression::square(x - target) / 2, delta * (size - delta / 2));
    }
};

/// Binary cross-entropy of logits x and targets from 0 to 1: -t log sigmoid(x) - (1 - t) log(1 - sigmoid(x)), without
/// the overflows and cancellations of that form.
struct bce_with_logits : row_loss<bce_with_logits> {
    static constexpr const char* name = "bce_with_logits";
    static constexpr auto of(auto x, auto target) {
        return straight_through(relu(x) - x * target + softplus(-abs(x)), softplus(x) - x * target);
    }
};

/// Kullback-Leibler divergence of logarithms of probabilities x from probabilities t: t (log t - x), 0 where t is,
/// summed over each sample and averaged over samples (Kullback and Leibler 1951, "On information and sufficiency").
struct kl_divergence : row_loss<kl_divergence> {
    static constexpr const char* name = "kl_divergence";
    static constexpr auto reduction = loss_reduction::batch_mean;
    static constexpr auto of(auto x, auto target) { return select(target == 0, 0, target * (log(target) - x)); }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
