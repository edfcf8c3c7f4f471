// SPDX-License-Identifier: Apache-2.0
// Images made larger, with pixels between their neighbours.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/row.hpp"
#include "tessera/backend/reference/shard.hpp"

namespace tessera::reference {

namespace detail {

struct bilinear_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        const Real* const x = s.value(s.input());
        Real* const y = s.value(s.output());
        s.fill(s.output(), Real(0));
        each(s, s.call.value[s.input()].region, s.call.value[s.output()].region,
             [&](index_t in, index_t out, double weight) { y[out] += static_cast<Real>(weight) * x[in]; });
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        const Real* const dy = s.gradient(s.output());
        Real* const dx = s.gradient(o);
        each(s, s.call.gradient[o].region, s.call.gradient[s.output()].region,
             [&](index_t in, index_t out, double weight) { dx[in] += static_cast<Real>(weight) * dy[out]; });
    }

private:
    /// Calls body(place in x, place in y, weight) for what each element of the shard's output is made of.
    template <class Real, class Body>
    static void each(const shard<Real>& s, const box& x, const box& y, const Body& body) {
        const auto a = s.call.attributes.template as<op::upsample_attributes>();
        const box all = s.touched(s.output());
        const shape& extents = s.extents(s.input());
        const auto place = [](const box& b, index_t n, index_t c, index_t h, index_t w) {
            index_t at = n - b.dim[0].begin;
            at = at * b.dim[1].size() + c - b.dim[1].begin;
            at = at * b.dim[2].size() + h - b.dim[2].begin;
            return at * b.dim[3].size() + w - b.dim[3].begin;
        };
        for (index_t n = all.dim[0].begin; n < all.dim[0].end; ++n) {
            for (index_t c = all.dim[1].begin; c < all.dim[1].end; ++c) {
                for (index_t h = all.dim[2].begin; h < all.dim[2].end; ++h) {
                    const op::linear_taps rows = op::taps_of(h, a.factor[0], extents[2]);
                    for (index_t w = all.dim[3].begin; w < all.dim[3].end; ++w) {
                        const op::linear_taps columns = op::taps_of(w, a.factor[1], extents[3]);
                        for (int i = 0; i < 4; ++i) {
                            const double weight = rows.weight[i / 2] * columns.weight[i % 2];
                            if (weight != 0) { // of others the shard need not have what they are of
                                body(place(x, n, c, rows.at[i / 2], columns.at[i % 2]), place(y, n, c, h, w), weight);
                            }
                        }
                    }
                }
            }
        }
    }
};

} // namespace detail

inline constexpr row_list upsample_rows{
    row<op::upsample_bilinear_record, detail::bilinear_loops>{},
};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
