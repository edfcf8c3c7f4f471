// SPDX-License-Identifier: Apache-2.0
// Losses of rows, such as the logits of a sample or of a position, which sum over the row. They are written as loop
// nests.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/nest/record.hpp"

namespace tessera {

namespace op {

struct smoothing_options {
    double smoothing = 0;
    static constexpr attribute_field fields[] = {number_field("smoothing")};
};

/// The sum over classes of q (log sum exp - logit): nests of the maximum, the sum of exponentials and the loss, as in
/// cross_entropy.
constexpr auto cross_entropy_of(auto& w, const auto& classes, const auto& x, const auto& q) {
    const auto top = expression::stop_gradient(w.max(classes, x));
    return w.sum(classes, q * (expression::log(w.sum(classes, expression::exp(x - top))) + (top - x)));
}

/// logits[N,K] or [N,T,K] and integer labels[N] or [N,T] -> losses of the shape of the labels.
struct smooth_cross_entropy_body : operation<smooth_cross_entropy_body> {
    static constexpr const char* name = "smooth_cross_entropy";
    static constexpr int ranks[] = {2, 3};
    using options = smoothing_options;
    static constexpr void body(auto& w, const options& o) {
        const auto all = w.dimensions();
        const auto k = all.last();
        const auto x = w.input(all);
        const auto label = w.integers(k, all.without_last());
        const auto smoothing = w.number(o.smoothing);
        const auto q = select(w.index(k) == label, 1 - smoothing, 0) + smoothing / w.size(k);
        w.loss(all.without_last()) = cross_entropy_of(w, k, x, q);
    }
};

/// logits and probabilities, both [N,K] or [N,T,K] -> losses[N] or [N,T].
struct soft_cross_entropy_body : operation<soft_cross_entropy_body> {
    static constexpr const char* name = "soft_cross_entropy";
    static constexpr int ranks[] = {2, 3};
    using options = smoothing_options;
    static constexpr void body(auto& w, const options& o) {
        const auto all = w.dimensions();
        const auto k = all.last();
        const auto x = w.input(all);
        const auto probability = w.input(all);
        const auto smoothing = w.number(o.smoothing);
        const auto q = probability * (1 - smoothing) + smoothing / w.size(k);
        w.loss(all.without_last()) = cross_entropy_of(w, k, x, q);
    }
};

} // namespace op

/// Cross-entropy of logits and integer labels with label smoothing: a row's target has 1 - Smoothing at its label, and
/// Smoothing / K at each of the K classes besides (Szegedy et al. 2016, "Rethinking the inception architecture for
/// computer vision", section 7). The mean over the rows of the global batch. Of rows [N,K] and sequences [N,T,K].
template <number Smoothing = 0.1>
struct smooth_cross_entropy {
    static_assert(Smoothing.value() >= 0 && Smoothing.value() <= 1, "tessera: label smoothing is from 0 to 1");
    static constexpr op_attributes attributes =
        detail::generated_attributes<op::smooth_cross_entropy_body>(op::smoothing_options{Smoothing.value()});
};

/// Cross-entropy of logits and soft labels, the probabilities of all classes, which gradients reach where the network
/// computes them: the mean over rows of the sum of -q log softmax. With Smoothing, q = (1 - Smoothing) label +
/// Smoothing / K.
template <number Smoothing = 0>
struct soft_cross_entropy {
    static_assert(Smoothing.value() >= 0 && Smoothing.value() <= 1, "tessera: label smoothing is from 0 to 1");
    static constexpr op_attributes attributes =
        detail::generated_attributes<op::soft_cross_entropy_body>(op::smoothing_options{Smoothing.value()});
};

/// One less the cosine of the angle between the rows of a[N,C] and b[N,C], averaged over the global batch. Channels are
/// not split.
struct cosine_loss : operation<cosine_loss> {
    static constexpr const char* name = "cosine_loss";
    static constexpr void body(auto& w) {
        const auto [n, c] = w.loops(sample, channel);
        const auto a = w.input(n, c);
        const auto b = w.input(n, c);
        constexpr double least = 1e-16; // of a square: a row of zeros has no direction, and no gradient
        w.loss(n) = 1 - w.sum(c, a * b) * rsqrt(max(w.sum(c, a * a), least)) * rsqrt(max(w.sum(c, b * b), least));
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
