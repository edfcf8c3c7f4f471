// SPDX-License-Identifier: Apache-2.0
// The last product and its cross-entropy, logit by logit.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/row.hpp"
#include "tessera/base/finite.hpp"

#include <cmath>
#include <limits>

namespace tessera::reference {

namespace detail {

/// A shard of rows and words, with their numbers in the whole operator.
template <class Real>
class vocabulary_shard {
public:
    explicit vocabulary_shard(const shard<Real>& s, bool of_masked)
        : s_(s), a_(s.call.attributes.template as<op::masked_vocabulary_loss_attributes>()), masked_(of_masked),
          sequences_(s.extents(s.input(0)).rank == 3), words_(s.call.ranges[s.d.find_loop(loop_name::channel)]),
          features_(s.d.loops[s.d.find_loop(loop_name::reduction)].extent) {}

    const interval& words() const { return words_; }
    index_t features() const { return features_; }
    Real target(bool is_label) const { return static_cast<Real>(a_.target(is_label)); }

    /// Calls body(sample, position) for every row.
    template <class Body>
    void for_each_row(Body&& body) const {
        const interval positions = sequences_ ? s_.call.ranges[1] : interval{0, 1};
        for (index_t n = s_.call.ranges[0].begin; n < s_.call.ranges[0].end; ++n) {
            for (index_t t = positions.begin; t < positions.end; ++t) {
                body(n, t);
            }
        }
    }
    /// Where a row's number, or its first one, is in a tile.
    index_t at(const box& region, index_t n, index_t t, index_t each = 1) const {
        const index_t row = sequences_ ? (n - region.dim[0].begin) * region.dim[1].size() + t - region.dim[1].begin
                                       : n - region.dim[0].begin;
        return row * each;
    }
    Real& number(int o, index_t n, index_t t) const { return s_.value(o)[at(s_.call.value[o].region, n, t)]; }
    index_t label(index_t n, index_t t) const {
        const int o = s_.input(1);
        return s_.template value<std::int32_t>(o)[at(s_.call.value[o].region, n, t)];
    }
    bool counts(index_t n, index_t t) const { return !masked_ || label(n, t) != a_.ignored; }

    const Real* input(index_t n, index_t t) const {
        const int o = s_.input(0);
        return s_.value(o) + at(s_.call.value[o].region, n, t, features_);
    }
    const Real* weights(index_t k) const {
        const int o = s_.parameter(0);
        return s_.value(o) + (k - s_.call.value[o].region.dim[0].begin) * features_;
    }
    Real logit(index_t n, index_t t, index_t k) const {
        const Real* const x = input(n, t);
        const Real* const w = weights(k);
        Real sum = 0;
        for (index_t c = 0; c < features_; ++c) {
            sum += x[c] * w[c];
        }
        return sum;
    }
    /// Of a row in the mean over those that count, and 0 of others.
    Real weight(index_t n, index_t t) const {
        if (!masked_) {
            return 1;
        }
        const Real all = *s_.value(s_.intermediate(2));
        return !counts(n, t) || all == 0 ? Real(0) : static_cast<Real>(s_.extents(s_.output()).volume()) / all;
    }

private:
    const shard<Real>& s_;
    op::masked_vocabulary_loss_attributes a_;
    bool masked_;
    bool sequences_;
    interval words_;
    index_t features_;
};

template <bool Masked>
struct vocabulary_loss_passes {
    template <class Real>
    static void forward(const shard<Real>& s, int nest) {
        const vocabulary_shard<Real> a(s, Masked);
        nest == 0 ? maxima(s, a) : nest == 1 ? sums(s, a) : Masked&& nest == 2 ? count(s, a) : losses(s, a);
    }
    template <class Real>
    static void maxima(const shard<Real>& s, const vocabulary_shard<Real>& a) {
        a.for_each_row([&](index_t n, index_t t) {
            Real top = -std::numeric_limits<Real>::infinity();
            for (index_t k = a.words().begin; k < a.words().end; ++k) {
                const Real z = a.logit(n, t, k);
                top = z > top || is_nan(z) ? z : top;
            }
            a.number(s.intermediate(0), n, t) = top;
        });
    }
    template <class Real>
    static void sums(const shard<Real>& s, const vocabulary_shard<Real>& a) {
        a.for_each_row([&](index_t n, index_t t) {
            Real sum = 0;
            for (index_t k = a.words().begin; k < a.words().end; ++k) {
                sum += std::exp(a.logit(n, t, k) - a.number(s.intermediate(0), n, t));
            }
            a.number(s.intermediate(1), n, t) = sum;
        });
    }
    template <class Real>
    static void count(const shard<Real>& s, const vocabulary_shard<Real>& a) {
        Real rows = 0;
        a.for_each_row([&](index_t n, index_t t) {
            const index_t label = a.label(n, t);
            rows += a.counts(n, t) && label >= a.words().begin && label < a.words().end ? Real(1) : Real(0);
        });
        *s.value(s.intermediate(2)) = rows;
    }
    /// The sum of target * (log of the sum of exponentials - logit). The difference of logits comes first: an offset
    /// that they share then costs the loss no digits.
    template <class Real>
    static void losses(const shard<Real>& s, const vocabulary_shard<Real>& a) {
        a.for_each_row([&](index_t n, index_t t) {
            const Real top = a.number(s.intermediate(0), n, t);
            const Real log_sum = std::log(a.number(s.intermediate(1), n, t));
            const Real weight = a.weight(n, t);
            Real sum = 0;
            for (index_t k = a.words().begin; k < a.words().end; ++k) {
                const Real q = weight * a.target(a.label(n, t) == k);
                sum += q == 0 ? Real(0) : q * (log_sum + (top - a.logit(n, t, k)));
            }
            a.number(s.output(), n, t) = sum;
        });
    }
    /// Of a logit (softmax - target) * loss_scale, times the other factor of its product. The features may be some.
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        const vocabulary_shard<Real> a(s, Masked);
        const bool of_input = o == s.input(0);
        Real* const to = s.gradient(o);
        const box& region = s.call.gradient[o].region;
        const interval features = region.dim[region.rank - 1];
        a.for_each_row([&](index_t n, index_t t) {
            const Real scale = static_cast<Real>(s.call.loss_scale) * a.weight(n, t);
            for (index_t k = a.words().begin; k < a.words().end && scale != 0; ++k) {
                const Real p =
                    std::exp(a.logit(n, t, k) - a.number(s.intermediate(0), n, t)) / a.number(s.intermediate(1), n, t);
                const Real slope = (p - a.target(a.label(n, t) == k)) * scale;
                const Real* const other = (of_input ? a.weights(k) : a.input(n, t)) + features.begin;
                Real* const into =
                    to + (of_input ? a.at(region, n, t, features.size()) : (k - region.dim[0].begin) * features.size());
                for (index_t c = 0; c < features.size(); ++c) {
                    into[c] += slope * other[c];
                }
            }
        });
    }
};

} // namespace detail

inline constexpr row_list vocabulary_loss_rows{
    row<op::vocabulary_loss_record, detail::vocabulary_loss_passes<false>, true>{},
    row<op::masked_vocabulary_loss_record, detail::vocabulary_loss_passes<true>, true>{},
};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
