// SPDX-License-Identifier: Apache-2.0
// Attention to keys and values that are kept, and rotations of positions that come piece by piece.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/attention.hpp"
#include "tessera/op/rotary.hpp"

#include <cmath>
#include <limits>

namespace tessera::reference {

namespace detail {

/// A shard of an attention with kept keys and values: all new positions and all that there is room for.
template <class Real>
class cached_attention_shard {
public:
    explicit cached_attention_shard(const shard<Real>& s)
        : s_(s), a_(s.call.attributes.template as<op::cached_attention_attributes>()),
          loops_(a_.of.heads > a_.of.groups()), shared_(a_.of.heads / a_.of.groups()),
          width_(s.extents(s.input(0))[2] / a_.of.heads), value_width_(s.extents(s.input(2))[2] / a_.of.groups()),
          positions_(s.extents(s.input(0))[1]), scale_(static_cast<Real>(a_.of.scale_of(width_))),
          first_(s.template value<std::int32_t>(s.input(3)) - s.call.value[s.input(3)].region.dim[0].begin) {}

    /// Keys and values of the new positions, to where they are kept.
    void keep() const {
        const interval* const r = s_.call.ranges;
        for (int slot = 0; slot < 2; ++slot) {
            const index_t each = slot == 0 ? width_ : value_width_;
            const head_rows<Real> from = rows(s_.input(1 + slot), each);
            const head_rows<Real> to = rows(s_.parameter(slot), each);
            for (index_t n = r[loops_.sample].begin; n < r[loops_.sample].end; ++n) {
                for (index_t g = r[loops_.group].begin; g < r[loops_.group].end; ++g) {
                    for (index_t i = 0; i < positions_ && first_[n] + i < a_.room; ++i) {
                        const Real* const row = from(n, g, i);
                        std::copy(row, row + each, to(n, g, first_[n] + i));
                    }
                }
            }
        }
    }

    /// Calls body(sample, head, new position, keys) for every row; the keys are those that it sees.
    template <class Body>
    void for_each_row(Body&& body) const {
        const interval* const r = s_.call.ranges;
        const interval heads = loops_.head >= 0 ? r[loops_.head] : interval{0, 1};
        for (index_t n = r[loops_.sample].begin; n < r[loops_.sample].end; ++n) {
            const op::keys_seen seen(a_.of, positions_, first_[n] + positions_);
            for (index_t g = r[loops_.group].begin; g < r[loops_.group].end; ++g) {
                for (index_t h = g * shared_ + heads.begin; h < g * shared_ + heads.end; ++h) {
                    for (index_t i = 0; i < positions_; ++i) {
                        const index_t end = seen.end(i, a_.room);
                        const index_t begin = seen.first(i);
                        body(n, h, i, interval{begin < end ? begin : end, end});
                    }
                }
            }
        }
    }

    Real score_of(index_t n, index_t h, index_t i, index_t key) const {
        const Real* const q = rows(s_.input(0), width_)(n, h, i);
        const Real* const k = rows(s_.parameter(0), width_)(n, h / shared_, key);
        Real z = 0;
        for (index_t c = 0; c < width_; ++c) {
            z += q[c] * k[c];
        }
        z *= scale_;
        if (a_.of.softcap > 0) {
            const Real cap = static_cast<Real>(a_.of.softcap);
            z = cap * std::tanh(z / cap);
        }
        if (a_.of.alibi) {
            z -= static_cast<Real>(a_.of.slope_of(h) * static_cast<double>(first_[n] + i - key));
        }
        return z;
    }

    void largest() const {
        const row_numbers<Real> to{s_.value(s_.intermediate(0)), s_.call.value[s_.intermediate(0)].region};
        for_each_row([&](index_t n, index_t h, index_t i, const interval& keys) {
            Real top = -std::numeric_limits<Real>::infinity();
            for (index_t k = keys.begin; k < keys.end; ++k) {
                const Real z = score_of(n, h, i, k);
                top = z > top || is_nan(z) ? z : top;
            }
            to(n, h, i) = top;
        });
    }
    void mixture() const {
        const row_numbers<Real> top{s_.value(s_.intermediate(0)), s_.call.value[s_.intermediate(0)].region};
        const head_rows<Real> value = rows(s_.parameter(1), value_width_);
        const head_rows<Real> y = rows(s_.output(), value_width_);
        for_each_row([&](index_t n, index_t h, index_t i, const interval& keys) {
            Real* const to = y(n, h, i);
            std::fill(to, to + value_width_, Real(0));
            Real sum = 0;
            for (index_t k = keys.begin; k < keys.end; ++k) {
                const Real weight = std::exp(score_of(n, h, i, k) - top(n, h, i));
                const Real* const from = value(n, h / shared_, k);
                sum += weight;
                for (index_t c = 0; c < value_width_; ++c) {
                    to[c] += weight * from[c];
                }
            }
            for (index_t c = 0; c < value_width_ && sum > 0; ++c) {
                to[c] /= sum;
            }
        });
    }

private:
    head_rows<Real> rows(int o, index_t each) const { return {s_.value(o), s_.call.value[o].region, each}; }

    const shard<Real>& s_;
    op::cached_attention_attributes a_;
    op::attention_loops loops_;
    index_t shared_, width_, value_width_, positions_;
    Real scale_;
    const std::int32_t* first_;
};

struct cached_attention_passes {
    template <class Real>
    static void forward(const shard<Real>& s, int nest) {
        const cached_attention_shard<Real> a(s);
        if (nest == 0) {
            a.keep();
            a.largest();
        } else {
            a.mixture();
        }
    }
    template <class Real>
    static void backward(const shard<Real>&, int) {} // no gradient reaches its operands
};

struct placed_rotary_passes {
    /// Angles in double: far positions turn by many thousands.
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        const auto a = s.call.attributes.template as<op::rotary_attributes>();
        const op::rotary_scaling scaling = op::scaling_of(a);
        const interval* const r = s.call.ranges; // samples, positions, heads
        const index_t each = s.extents(s.input(0))[2] / a.heads;
        const index_t pairs = each / 2;
        const head_rows<Real> x{s.value(s.input(0)), s.call.value[s.input(0)].region, each};
        const head_rows<Real> y{s.value(s.output()), s.call.value[s.output()].region, each};
        const auto* const first =
            s.template value<std::int32_t>(s.input(1)) - s.call.value[s.input(1)].region.dim[0].begin;
        for (index_t pair = 0; pair < pairs; ++pair) {
            const double plain = std::pow(a.base, -static_cast<double>(pair) / static_cast<double>(pairs));
            const double line = plain * scaling.slope - scaling.offset;
            const double kept = line < 0 ? 0 : line > 1 ? 1 : line;
            const double frequency = plain * (scaling.least + (1 - scaling.least) * kept);
            const index_t one = a.halves ? pair : 2 * pair;
            const index_t other = a.halves ? pair + pairs : 2 * pair + 1;
            for (index_t n = r[0].begin; n < r[0].end; ++n) {
                for (index_t i = r[1].begin; i < r[1].end; ++i) {
                    const double angle = static_cast<double>(first[n] + i) * frequency;
                    const Real cosine = static_cast<Real>(std::cos(angle));
                    const Real sine = static_cast<Real>(std::sin(angle));
                    for (index_t h = r[2].begin; h < r[2].end; ++h) {
                        const Real* const from = x(n, h, i);
                        Real* const to = y(n, h, i);
                        to[one] = cosine * from[one] - sine * from[other];
                        to[other] = sine * from[one] + cosine * from[other];
                    }
                }
            }
        }
    }
    template <class Real>
    static void backward(const shard<Real>&, int) {}
};

} // namespace detail

inline constexpr row_list cached_attention_rows{
    row<op::cached_attention_record, detail::cached_attention_passes>{},
    row<op::placed_rotary_record, detail::placed_rotary_passes>{},
};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
