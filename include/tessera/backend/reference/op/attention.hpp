// SPDX-License-Identifier: Apache-2.0
// Attention, score by score: each pass computes every score that it needs from queries and keys.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/row.hpp"
#include "tessera/base/finite.hpp"
#include "tessera/op/mask.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace tessera::reference {

namespace detail {

/// The rows [N,T,heads * each] of queries, or [N,S,groups * each] of keys and values, by heads of queries.
template <class Real>
struct head_rows {
    Real* data;
    const box& region;
    index_t each;
    index_t shared = 1; ///< heads of queries that have one row

    Real* operator()(index_t n, index_t h, index_t t) const { return data + place_in(region, n, t, h / shared * each); }
};

/// A number for each row of a head, [N,H,T].
template <class Real>
struct row_numbers {
    Real* data;
    const box& region;

    Real& operator()(index_t n, index_t h, index_t t) const { return data[place_in(region, n, h, t)]; }
};

/// A shard of an attention, by heads of queries, queries and keys with their numbers in the whole operator.
template <class Real>
class attention_shard {
public:
    /// `sees`: whether the pass computes scores; it knows neither queries nor keys otherwise.
    explicit attention_shard(const shard<Real>& s, bool sees = true)
        : a_(s.call.attributes.template as<op::attention_attributes>()), loops_(a_.heads > a_.groups()),
          s_(s), extents_{s.extents(s.input(0)), s.extents(s.input(1)), s.extents(s.input(2))},
          seen_(a_, extents_[0][1], extents_[1][1]), shared_(a_.heads / a_.groups()),
          scale_(static_cast<Real>(a_.scale_of(width()))) {
        if (!sees) {
            return;
        }
        query_ = s.value(s.input(0));
        key_ = s.value(s.input(1));
        if (const int o = s.input(3); o >= 0) {
            (s.extents(o).rank == 2 ? mask_ : lengths_) = s.template value<std::int32_t>(o);
            seen_at_ = &s.call.value[o].region;
        }
        if (const int o = s.parameter(0); o >= 0) {
            table_ = s.value(o);
            table_at_ = &s.call.value[o].region;
        }
        drops_ = a_.percent > 0 && s.call.what != pass::evaluate;
        if (drops_ && s.call.run == nullptr) {
            throw error("tessera: an attention that drops weights needs the state of the run (seed and step)");
        }
        drop_key_ = drops_ ? op::mask_key(s.call.run->seed, s.call.run->step, s.call.op) : 0;
    }

    index_t width() const { return extents_[0][2] / a_.heads; }
    index_t value_width() const { return extents_[2][2] / a_.groups(); }
    Real scale() const { return scale_; }

    /// Of an operand's value or gradient: inputs 0 to 2, or the output.
    head_rows<Real> of_heads(int o, Real* data, const tile_view& at) const {
        const bool is_query = o == s_.input(0);
        const bool is_key = o == s_.input(1);
        return {data, at.region, is_query || is_key ? width() : value_width(),
                is_query || o == s_.output() ? 1 : shared_};
    }
    head_rows<Real> values(int o) const { return of_heads(o, s_.value(o), s_.call.value[o]); }
    head_rows<Real> gradients(int o) const { return of_heads(o, s_.gradient(o), s_.call.gradient[o]); }
    row_numbers<Real> numbers(int o) const { return {s_.value(o), s_.call.value[o].region}; }
    row_numbers<Real> number_gradients(int o) const { return {s_.gradient(o), s_.call.gradient[o].region}; }

    /// The bucket of a key for a query, and the number of a head's in a part of the table.
    index_t bucket_of(index_t t, index_t s) const { return a_.bucket_of(s - t - seen_.shift); }
    static index_t in_table(const box& region, index_t bucket, index_t h) {
        return bucket * region.dim[1].size() + h - region.dim[1].begin;
    }

    /// Calls body(sample, head, query, keys) for every row; the keys that it sees are among those, see hides().
    template <class Body>
    void for_each_row(Body&& body) const {
        const interval* const r = s_.call.ranges;
        const interval heads = loops_.head >= 0 ? r[loops_.head] : interval{0, 1};
        for (index_t n = r[0].begin; n < r[0].end; ++n) {
            for (index_t g = r[loops_.group].begin; g < r[loops_.group].end; ++g) {
                for (index_t h = g * shared_ + heads.begin; h < g * shared_ + heads.end; ++h) {
                    for (index_t t = r[loops_.query].begin; t < r[loops_.query].end; ++t) {
                        body(n, h, t, intersect(r[loops_.key], keys_of(n, t)));
                    }
                }
            }
        }
    }

    bool hides(index_t n, index_t s) const {
        const box* const at = seen_at_;
        return mask_ != nullptr && mask_[(n - at->dim[0].begin) * at->dim[1].size() + s - at->dim[1].begin] == 0;
    }

    /// A score, and what its derivative by scale * (q . k) is.
    struct score {
        Real value;
        Real slope;
    };
    score score_of(index_t n, index_t h, index_t t, index_t s) const {
        const Real* const q = of_heads(s_.input(0), query_, s_.call.value[s_.input(0)])(n, h, t);
        const Real* const k = of_heads(s_.input(1), key_, s_.call.value[s_.input(1)])(n, h, s);
        Real z = 0;
        for (index_t i = 0; i < width(); ++i) {
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
            z -= static_cast<Real>(a_.slope_of(h) * static_cast<double>(t + seen_.shift - s));
        }
        if (table_ != nullptr) {
            z += table_[in_table(*table_at_, bucket_of(t, s), h)];
        }
        return {z, slope};
    }

    /// The factor of a weight: 1, or what dropout makes of it.
    Real kept(index_t n, index_t h, index_t t, index_t s) const {
        if (!drops_) {
            return 1;
        }
        const index_t number = ((n * a_.heads + h) * extents_[0][1] + t) * extents_[1][1] + s;
        const auto percent = static_cast<int>(a_.percent);
        return op::keeps(drop_key_, number, percent) ? static_cast<Real>(op::kept_scale(percent)) : Real(0);
    }

private:
    interval keys_of(index_t n, index_t t) const {
        const index_t all = extents_[1][1];
        const index_t length = lengths_ != nullptr ? lengths_[n - seen_at_->dim[0].begin] : all;
        const index_t keys = length < all ? length : all;
        const index_t first = seen_.first(t);
        const index_t end = seen_.end(t, keys);
        return {first, end > first ? end : first};
    }

    op::attention_attributes a_;
    op::attention_loops loops_;
    const shard<Real>& s_;
    shape extents_[3]; ///< of queries, keys and values
    op::keys_seen seen_;
    index_t shared_;
    Real scale_;
    Real* query_ = nullptr;
    Real* key_ = nullptr;
    const std::int32_t* lengths_ = nullptr; ///< or a mask
    const std::int32_t* mask_ = nullptr;
    const box* seen_at_ = nullptr;
    const Real* table_ = nullptr; ///< of buckets
    const box* table_at_ = nullptr;
    bool drops_ = false;
    std::uint64_t drop_key_ = 0;
};

template <class Real>
void attention_maximum(const shard<Real>& s) {
    const attention_shard<Real> a(s);
    const auto largest = a.numbers(s.intermediate(0));
    a.for_each_row([&](index_t n, index_t h, index_t t, const interval& keys) {
        Real top = -std::numeric_limits<Real>::infinity();
        for (index_t i = keys.begin; i < keys.end; ++i) {
            if (a.hides(n, i)) {
                continue;
            }
            const Real z = a.score_of(n, h, t, i).value;
            top = z > top || is_nan(z) ? z : top;
        }
        largest(n, h, t) = top;
    });
}

template <class Real>
void attention_total(const shard<Real>& s) {
    const attention_shard<Real> a(s);
    const auto largest = a.numbers(s.intermediate(0));
    const auto total = a.numbers(s.intermediate(1));
    a.for_each_row([&](index_t n, index_t h, index_t t, const interval& keys) {
        Real sum = 0;
        for (index_t i = keys.begin; i < keys.end; ++i) {
            if (a.hides(n, i)) {
                continue;
            }
            sum += std::exp(a.score_of(n, h, t, i).value - largest(n, h, t));
        }
        total(n, h, t) = sum;
    });
}

template <class Real>
void attention_mixture(const shard<Real>& s) {
    const attention_shard<Real> a(s);
    const auto largest = a.numbers(s.intermediate(0));
    const auto total = a.numbers(s.intermediate(1));
    const auto value = a.values(s.input(2));
    const auto y = a.values(s.output());
    const index_t width = a.value_width();
    a.for_each_row([&](index_t n, index_t h, index_t t, const interval& keys) {
        Real* const to = y(n, h, t);
        for (index_t e = 0; e < width; ++e) {
            to[e] = 0;
        }
        for (index_t i = keys.begin; i < keys.end; ++i) {
            if (a.hides(n, i)) {
                continue;
            }
            const Real weight = std::exp(a.score_of(n, h, t, i).value - largest(n, h, t)) / total(n, h, t);
            const Real kept = a.kept(n, h, t, i);
            const Real* const from = value(n, h, i);
            for (index_t e = 0; e < width && kept != 0; ++e) {
                to[e] += kept * weight * from[e];
            }
        }
    });
}

/// The sum of dy * y of every row, of a part of the keys its part.
template <class Real>
void attention_total_gradient(const shard<Real>& s, int o) {
    const attention_shard<Real> a(s, false);
    const auto dy = a.gradients(s.output());
    const auto y = a.values(s.output());
    const auto to = a.number_gradients(o);
    a.for_each_row([&](index_t n, index_t h, index_t t, const interval&) {
        Real sum = 0;
        for (index_t e = 0; e < a.value_width(); ++e) {
            sum += dy(n, h, t)[e] * y(n, h, t)[e];
        }
        to(n, h, t) = sum;
    });
}

/// With p the weights and D the sum of dy * y of a row: dv = sum of kept p dy; dq = scale * sum of ds k, dk = scale * sum
/// of ds q, where ds = p (kept (dy . v) - D), less what the cap bends; a bucket's gradient is the sum of its ds.
template <class Real>
void attention_gradient(const shard<Real>& s, int o) {
    const attention_shard<Real> a(s);
    const bool of_queries = o == s.input(0);
    const bool of_table = o == s.parameter(0);
    const auto largest = a.numbers(s.intermediate(0));
    const auto total = a.numbers(s.intermediate(1));
    const auto means = a.number_gradients(s.intermediate(1));
    const auto values = a.values(s.input(2));
    const auto others = a.values(s.input(of_queries ? 1 : 0)); // by which slopes are multiplied
    const auto dy = a.gradients(s.output());
    const auto to = a.gradients(o);
    a.for_each_row([&](index_t n, index_t h, index_t t, const interval& keys) {
        const Real* const from = dy(n, h, t);
        for (index_t i = keys.begin; i < keys.end; ++i) {
            if (a.hides(n, i)) {
                continue;
            }
            const auto z = a.score_of(n, h, t, i);
            const Real weight = std::exp(z.value - largest(n, h, t)) / total(n, h, t);
            const Real kept = a.kept(n, h, t, i);
            Real* const into = of_table ? nullptr : to(n, h, of_queries ? t : i);
            if (o == s.input(2)) {
                for (index_t e = 0; e < a.value_width() && kept != 0; ++e) {
                    into[e] += kept * weight * from[e];
                }
                continue;
            }
            const Real* const value = values(n, h, i);
            Real along = 0;
            for (index_t e = 0; e < a.value_width() && kept != 0; ++e) {
                along += from[e] * value[e];
            }
            const Real bare = weight * (kept * along - means(n, h, t));
            if (of_table) {
                s.gradient(o)[a.in_table(s.call.gradient[o].region, a.bucket_of(t, i), h)] += bare;
                continue;
            }
            const Real slope = a.scale() * z.slope * bare;
            const Real* const other = others(n, h, of_queries ? i : t);
            for (index_t c = 0; c < a.width(); ++c) {
                into[c] += slope * other[c];
            }
        }
    });
}

/// Merges what the outputs, maxima and sums held of other keys with what they hold now: what is of scores less one
/// maximum becomes what is of scores less the larger one.
template <class Real>
void merge_attention(const shard<Real>& s, const std::vector<Real>& maxima, const std::vector<Real>& sums,
                     const std::vector<Real>& outputs) {
    const attention_shard<Real> a(s, false);
    const auto largest = a.numbers(s.intermediate(0));
    const auto total = a.numbers(s.intermediate(1));
    const auto y = a.values(s.output());
    a.for_each_row([&](index_t n, index_t h, index_t t, const interval&) {
        const std::ptrdiff_t row = &largest(n, h, t) - largest.data;
        const std::ptrdiff_t at = y(n, h, t) - y.data;
        Real& top = largest(n, h, t);
        Real& sum = total(n, h, t);
        const Real before = maxima[to_size(row)];
        const Real both = before > top || is_nan(before) ? before : top;
        const auto weight = [&](Real own, Real own_sum) { // of none nothing
            return own == both ? own_sum : std::isinf(own) ? Real(0) : std::exp(own - both) * own_sum;
        };
        const Real old = weight(before, sums[to_size(row)]);
        const Real now = weight(top, sum);
        const Real all = old + now;
        for (index_t e = 0; e < a.value_width() && all != 0; ++e) {
            const Real of_old = old == 0 ? Real(0) : old / all * outputs[to_size(at + e)];
            const Real of_now = now == 0 ? Real(0) : now / all * y(n, h, t)[e];
            y(n, h, t)[e] = of_old + of_now;
        }
        top = both;
        sum = all;
    });
}

struct attention_passes {
    template <class Real>
    static void forward(const shard<Real>& s, int nest) {
        if (s.call.continues) { // of all nests together
            return nest == 0 ? merge(s) : void();
        }
        nest == 0 ? attention_maximum(s) : nest == 1 ? attention_total(s) : attention_mixture(s);
    }
    template <class Real>
    static void merge(const shard<Real>& s) {
        const auto held = [&](int o) {
            const Real* const from = s.value(o);
            return std::vector<Real>(from, from + s.call.value[o].region.volume());
        };
        const std::vector<Real> maxima = held(s.intermediate(0));
        const std::vector<Real> sums = held(s.intermediate(1));
        const std::vector<Real> outputs = held(s.output());
        attention_maximum(s);
        attention_total(s);
        attention_mixture(s);
        merge_attention(s, maxima, sums, outputs);
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        o == s.intermediate(1) ? attention_total_gradient(s, o) : attention_gradient(s, o);
    }
};

} // namespace detail

inline constexpr row_list attention_rows{
    row<op::attention_record, detail::attention_passes>{},
    row<op::padded_attention_record, detail::attention_passes>{},
};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
