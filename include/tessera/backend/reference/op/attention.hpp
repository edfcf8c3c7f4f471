// SPDX-License-Identifier: Apache-2.0
// Attention, score by score: each pass computes every score that it needs from queries and keys.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/row.hpp"
#include "tessera/base/finite.hpp"
#include "tessera/op/mask.hpp"

#include <cmath>
#include <limits>

namespace tessera::reference {

namespace detail {

/// A shard of an attention, by heads of queries, queries and keys with their numbers in the whole operator.
template <class Real>
class attention_shard {
public:
    explicit attention_shard(const shard<Real>& s)
        : a_(s.call.attributes.template as<op::attention_attributes>()), loops_(a_.heads > a_.groups()), s_(s),
          query_(s.extents(s.input(0))), key_(s.extents(s.input(1))), seen_(a_, query_[1], key_[1]),
          width_(query_[2] / a_.heads), value_width_(s.extents(s.input(2))[2] / a_.groups()),
          shared_(a_.heads / a_.groups()),
          scale_(static_cast<Real>(a_.scale == 0 ? 1 / std::sqrt(static_cast<double>(width_)) : a_.scale)) {
        if (const int o = s.input(3); o >= 0) {
            lengths_ = s.template value<std::int32_t>(o) - s.call.value[o].region.dim[0].begin;
        }
        drops_ = a_.percent > 0 && s.call.what != pass::evaluate;
        if (drops_ && s.call.run == nullptr) {
            throw error("tessera: an attention that drops weights needs the state of the run (seed and step)");
        }
        drop_key_ = drops_ ? op::mask_key(s.call.run->seed, s.call.run->step, s.call.op) : 0;
    }

    index_t width() const { return width_; }
    index_t value_width() const { return value_width_; }

    /// Calls body(sample, head, query, first key, behind the last key) for every row; the keys are those that it sees.
    template <class Body>
    void for_each_row(Body&& body) const {
        const interval* const r = s_.call.ranges;
        const interval heads = loops_.head >= 0 ? r[loops_.head] : interval{0, 1};
        for (index_t n = r[0].begin; n < r[0].end; ++n) {
            for (index_t g = r[loops_.group].begin; g < r[loops_.group].end; ++g) {
                for (index_t h = g * shared_ + heads.begin; h < g * shared_ + heads.end; ++h) {
                    for (index_t t = r[loops_.query].begin; t < r[loops_.query].end; ++t) {
                        const interval keys = intersect(r[loops_.key], keys_of(n, t));
                        body(n, h, t, keys);
                    }
                }
            }
        }
    }
    /// The channels of an operand of queries, or of keys and values, for a head of queries.
    Real* queries(Real* data, const tile_view& v, index_t n, index_t h, index_t t, index_t each) const {
        return data + place_in(v.region, n, t, h * each);
    }
    Real* keys(Real* data, const tile_view& v, index_t n, index_t h, index_t s, index_t each) const {
        return data + place_in(v.region, n, s, h / shared_ * each);
    }
    /// The number of a row in an operand [N,H,T].
    Real& row(Real* data, const tile_view& v, index_t n, index_t h, index_t t) const {
        return data[place_in(v.region, n, h, t)];
    }

    /// A score, and what its derivative by scale * (q . k) is.
    struct score {
        Real value;
        Real slope;
    };
    score score_of(const Real* q, const Real* k, index_t h, index_t t, index_t s) const {
        Real z = 0;
        for (index_t i = 0; i < width_; ++i) {
            z += q[i] * k[i];
        }
        z *= scale_;
        Real slope = 1;
        if (a_.softcap > 0) {
            const Real cap = static_cast<Real>(a_.softcap);
            const Real bent = std::tanh(z / cap);
            z = cap * bent;
            slope = 1 - bent * bent;
        }
        if (a_.alibi) {
            z -= static_cast<Real>(std::exp2(-8 * static_cast<double>(h + 1) / static_cast<double>(a_.heads)) *
                                   static_cast<double>(t + seen_.shift - s));
        }
        return {z, slope};
    }
    Real scale() const { return scale_; }

    /// The factor of a weight: 1, or what dropout makes of it.
    Real kept(index_t n, index_t h, index_t t, index_t s) const {
        if (!drops_) {
            return 1;
        }
        const index_t number = ((n * a_.heads + h) * query_[1] + t) * key_[1] + s;
        const auto percent = static_cast<int>(a_.percent);
        return op::keeps(drop_key_, number, percent) ? static_cast<Real>(op::kept_scale(percent)) : Real(0);
    }

private:
    interval keys_of(index_t n, index_t t) const {
        const index_t keys = lengths_ != nullptr && lengths_[n] < key_[1] ? lengths_[n] : key_[1];
        const index_t first = seen_.first(t);
        const index_t end = seen_.end(t, keys);
        return {first, end > first ? end : first};
    }
    static index_t place_in(const box& region, index_t i, index_t j, index_t k) {
        return ((i - region.dim[0].begin) * region.dim[1].size() + j - region.dim[1].begin) * region.dim[2].size() + k -
               region.dim[2].begin;
    }

    op::attention_attributes a_;
    op::attention_loops loops_;
    const shard<Real>& s_;
    shape query_;
    shape key_;
    op::keys_seen seen_;
    index_t width_;
    index_t value_width_;
    index_t shared_;
    Real scale_;
    const std::int32_t* lengths_ = nullptr;
    bool drops_ = false;
    std::uint64_t drop_key_ = 0;
};

template <class Real>
void attention_maximum(const shard<Real>& s) {
    const attention_shard<Real> a(s);
    const tile_view* const v = s.call.value;
    const int q = s.input(0), k = s.input(1), largest = s.intermediate(0);
    Real *const pq = s.value(q), *const pk = s.value(k), *const to = s.value(largest);
    a.for_each_row([&](index_t n, index_t h, index_t t, const interval& keys) {
        Real top = -std::numeric_limits<Real>::infinity();
        for (index_t i = keys.begin; i < keys.end; ++i) {
            const Real z =
                a.score_of(a.queries(pq, v[q], n, h, t, a.width()), a.keys(pk, v[k], n, h, i, a.width()), h, t, i)
                    .value;
            top = z > top || is_nan(z) ? z : top;
        }
        a.row(to, v[largest], n, h, t) = top;
    });
}

template <class Real>
void attention_total(const shard<Real>& s) {
    const attention_shard<Real> a(s);
    const tile_view* const v = s.call.value;
    const int q = s.input(0), k = s.input(1), largest = s.intermediate(0), total = s.intermediate(1);
    Real *const pq = s.value(q), *const pk = s.value(k), *const top = s.value(largest), *const to = s.value(total);
    a.for_each_row([&](index_t n, index_t h, index_t t, const interval& keys) {
        Real sum = 0;
        for (index_t i = keys.begin; i < keys.end; ++i) {
            const Real z =
                a.score_of(a.queries(pq, v[q], n, h, t, a.width()), a.keys(pk, v[k], n, h, i, a.width()), h, t, i)
                    .value;
            sum += std::exp(z - a.row(top, v[largest], n, h, t));
        }
        a.row(to, v[total], n, h, t) = sum;
    });
}

template <class Real>
void attention_mixture(const shard<Real>& s) {
    const attention_shard<Real> a(s);
    const tile_view* const v = s.call.value;
    const int q = s.input(0), k = s.input(1), x = s.input(2), y = s.output();
    const int largest = s.intermediate(0), total = s.intermediate(1);
    Real *const pq = s.value(q), *const pk = s.value(k), *const px = s.value(x), *const py = s.value(y);
    Real *const top = s.value(largest), *const sum = s.value(total);
    const index_t width = a.value_width();
    a.for_each_row([&](index_t n, index_t h, index_t t, const interval& keys) {
        Real* const to = a.queries(py, v[y], n, h, t, width);
        for (index_t e = 0; e < width; ++e) {
            to[e] = 0;
        }
        for (index_t i = keys.begin; i < keys.end; ++i) {
            const Real z =
                a.score_of(a.queries(pq, v[q], n, h, t, a.width()), a.keys(pk, v[k], n, h, i, a.width()), h, t, i)
                    .value;
            const Real weight = std::exp(z - a.row(top, v[largest], n, h, t)) / a.row(sum, v[total], n, h, t);
            const Real kept = a.kept(n, h, t, i);
            const Real* const from = a.keys(px, v[x], n, h, i, width);
            for (index_t e = 0; e < width && kept != 0; ++e) {
                to[e] += kept * weight * from[e];
            }
        }
    });
}

/// With p the weights and D the sum of dy * y of a row: dv = sum of kept p dy; dq = scale * sum of ds k, dk = scale * sum
/// of ds q, where ds = p (kept (dy . v) - D), less what the cap bends.
template <class Real>
void attention_gradient(const shard<Real>& s, int o) {
    const attention_shard<Real> a(s);
    const tile_view* const v = s.call.value;
    const tile_view* const g = s.call.gradient;
    const int q = s.input(0), k = s.input(1), x = s.input(2), y = s.output();
    const int largest = s.intermediate(0), total = s.intermediate(1);
    Real *const pq = s.value(q), *const pk = s.value(k), *const px = s.value(x), *const py = s.value(y);
    Real *const top = s.value(largest), *const sum = s.value(total), *const dy = s.gradient(y),
                *const to = s.gradient(o);
    const index_t width = a.width();
    const index_t value_width = a.value_width();
    a.for_each_row([&](index_t n, index_t h, index_t t, const interval& keys) {
        const Real* const query = a.queries(pq, v[q], n, h, t, width);
        const Real* const from = a.queries(dy, g[y], n, h, t, value_width);
        const Real* const made = a.queries(py, v[y], n, h, t, value_width);
        Real mean = 0; // of the weights' gradients
        for (index_t e = 0; e < value_width; ++e) {
            mean += from[e] * made[e];
        }
        for (index_t i = keys.begin; i < keys.end; ++i) {
            const Real* const key = a.keys(pk, v[k], n, h, i, width);
            const auto z = a.score_of(query, key, h, t, i);
            const Real weight = std::exp(z.value - a.row(top, v[largest], n, h, t)) / a.row(sum, v[total], n, h, t);
            const Real kept = a.kept(n, h, t, i);
            if (o == x) {
                Real* const value = a.keys(to, g[o], n, h, i, value_width);
                for (index_t e = 0; e < value_width && kept != 0; ++e) {
                    value[e] += kept * weight * from[e];
                }
                continue;
            }
            const Real* const value = a.keys(px, v[x], n, h, i, value_width);
            Real along = 0;
            for (index_t e = 0; e < value_width && kept != 0; ++e) {
                along += from[e] * value[e];
            }
            const Real slope = a.scale() * z.slope * weight * (kept * along - mean);
            Real* const into = o == q ? a.queries(to, g[o], n, h, t, width) : a.keys(to, g[o], n, h, i, width);
            const Real* const other = o == q ? key : query;
            for (index_t c = 0; c < width; ++c) {
                into[c] += slope * other[c];
            }
        }
    });
}

struct attention_passes {
    template <class Real>
    static void forward(const shard<Real>& s, int nest) {
        nest == 0 ? attention_maximum(s) : nest == 1 ? attention_total(s) : attention_mixture(s);
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        attention_gradient(s, o);
    }
};

} // namespace detail

inline constexpr row_list attention_rows{
    row<op::attention_record, detail::attention_passes>{},
    row<op::padded_attention_record, detail::attention_passes>{},
};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
