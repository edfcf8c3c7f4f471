// SPDX-License-Identifier: Apache-2.0
// Cross-entropies in which not every row counts the same: an ignored label, a weight for each class, a weight for each
// row. Written as loop nests.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/nest/record.hpp"

namespace tessera {

namespace op {

struct counted_options {
    index_t ignored = -100;
    double smoothing = 0;
    static constexpr attribute_field fields[] = {{"ignored", 1, INT32_MIN}, number_field("smoothing")};
};

/// Whose weights the rows have.
enum class row_weights : std::uint8_t { none, of_classes, handed_in };

/// logits[N,K], [N,T,K] or [N,K,H,W] and integer labels[N], [N,T] or [N,H,W], and, handed in, weights like the labels
/// -> losses like the labels.
///
/// With w[n] the row's weight, or that of its label's class, and R rows, the loss of row n is R / (sum of w over the
/// rows that count) times
///
///     sum over k of u[n,k] q[n,k] (log sum exp - logit[n,k]),    q = (1 - smoothing) [k is the label] + smoothing / K,
///
/// where u[n,k] is the weight of class k, or else w[n]; 0 where the label is the ignored one. So the mean over R rows
/// is PyTorch's `mean` of torch.nn.functional.cross_entropy. Where nothing counts it is 0, and so are its gradients
/// (PyTorch's are NaN).
///
/// What the rows weigh is a sum over the classes as well, as one term is not 0, so that all nests have all loops and
/// each may be split.
template <row_weights Weights>
struct counted_cross_entropy_body : operation<counted_cross_entropy_body<Weights>> {
    static constexpr const char* name = Weights == row_weights::none         ? "masked_cross_entropy"
                                        : Weights == row_weights::of_classes ? "class_weighted_cross_entropy"
                                                                             : "row_weighted_cross_entropy";
    static constexpr int ranks[2] = {2, 4}; // (clang 14 knows no bound but a said one in a template)
    static constexpr bool takes_logits = true;
    using options = counted_options;
    static constexpr void body(auto& w, const options& o) {
        namespace e = expression;
        const auto all = w.dimensions();
        const int classes = channel_dimension(w.rank());
        const auto k = all[classes];
        const auto rows = all.without(classes);
        const auto x = w.input(all);
        const auto label = w.integers(k, rows);
        const auto smoothing = w.number(o.smoothing);
        const auto is_label = w.index(k) == label;
        const auto skipped = label == w.ignored(o.ignored);
        const auto top = e::stop_gradient(w.max(k, x));
        const auto lost = e::log(w.sum(k, e::exp(x - top))) +
                          (top - x); // the difference first: an offset of all logits is in neither term
        const auto target = select(is_label, 1 - smoothing, 0) + smoothing / w.size(k);
        const auto write = [&](const auto& weight) {
            const auto together = w.sum(all, select(skipped, 0, select(is_label, weight, 0)));
            const auto scale = select(together == 0, 0, w.size(rows) / together);
            const auto q = select(skipped, 0, target * weight) * scale;
            w.loss(rows) =
                w.sum(k, select(q == 0, 0, q * lost)); // a logit of minus infinity loses nothing where it is no target
        };
        if constexpr (Weights == row_weights::of_classes) {
            write(w.constant_parameter(initial_values::ones, k));
        } else if constexpr (Weights == row_weights::handed_in) {
            write(w.input(rows));
        } else {
            write(w.number(1));
        }
    }
    /// Rows that a network weighs are taken as 1 each.
    static constexpr double row_weight(const op_attributes& a, const loss_rows& r) {
        const auto ignored = a.as<options>().ignored;
        double sum = 0;
        for (index_t i = 0; i < r.count; ++i) {
            const std::int32_t label = r.labels[i];
            const float* const of = Weights == row_weights::of_classes  ? r.parameter
                                    : Weights == row_weights::handed_in ? r.weights
                                                                        : nullptr;
            const auto at = Weights == row_weights::of_classes ? index_t{label} : i;
            sum += label == ignored ? 0 : of == nullptr ? 1 : static_cast<double>(of[at]);
        }
        return sum;
    }
};

} // namespace op

/// The label of rows that do not count, any integer: PyTorch's ignore_index.
template <index_t Label>
struct ignore {
    static_assert(Label >= -16777216 && Label <= 16777216,
                  "tessera: labels are compared as fp32 numbers; an ignored one is from -2^24 to 2^24");
    template <class Own>
    requires requires(Own& own) { own.ignored; }
    static constexpr void apply(Own& own) { own.ignored = Label; }
};
/// A row's target has 1 - Smoothing at its label, and Smoothing / K at each of the K classes besides.
template <number Smoothing>
struct label_smoothing {
    static_assert(Smoothing.value() >= 0 && Smoothing.value() <= 1, "tessera: label smoothing is from 0 to 1");
    template <class Own>
    requires requires(Own& own) { own.smoothing; }
    static constexpr void apply(Own& own) { own.smoothing = Smoothing.value(); }
};

/// masked_cross_entropy<ignore<-100>, label_smoothing<0>>: rows of the ignored label do not count. The loss is the mean
/// over those of the global batch that do; 0 where none does. Options: ignore, label_smoothing, weight.
template <class... Options>
struct masked_cross_entropy
    : detail::generated_layer<op::counted_cross_entropy_body<op::row_weights::none>, Options...> {};

/// The same with a weight for each class, a parameter [K] that is not trained: ones, until
/// trainer.set_weights<layer>(...) sets them. The loss is divided by the sum of the weights of the labels that count,
/// over the global batch.
template <class... Options>
struct class_weighted_cross_entropy
    : detail::generated_layer<op::counted_cross_entropy_body<op::row_weights::of_classes>, Options...> {};

/// The same with a weight for each row, which is the third input and has the shape of the labels. The loss is divided
/// by the sum of the weights of the rows that count, over the global batch. Gradients reach weights that the network
/// computes.
template <class... Options>
struct row_weighted_cross_entropy
    : detail::generated_layer<op::counted_cross_entropy_body<op::row_weights::handed_in>, Options...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
