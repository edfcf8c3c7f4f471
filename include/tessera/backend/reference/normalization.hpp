// SPDX-License-Identifier: Apache-2.0
// Normalizations whose statistics are of rows: the last dimension, a group of channels of a sample.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/loops.hpp"
#include "tessera/backend/reference/statistics.hpp"

#include <cmath>

namespace tessera::reference::detail {

/// Mean and 1 / sqrt(variance + epsilon) of a row of `count` elements from the sums of x and x^2.
struct row_moments {
    double mean = 0;
    double inverse = 1;

    row_moments(const double* sum, index_t apart, index_t count, double epsilon);
};

/// Elements that two sums of the statistics cover.
template <class Real>
index_t row_length(const shard<Real>& s) {
    return s.extents(s.input()).volume() * 2 / s.extents(s.intermediate(0)).volume();
}

/// The statistics of the row in which a run lies: they do not depend on the innermost loop. `Own`: the operator's
/// attributes, among them epsilon.
template <class Own, class Real, class Run>
row_moments moments_at(const shard<Real>& s, const Run& r, int place) {
    const int statistics = s.intermediate(0);
    return {s.template value<double>(statistics) + r.at[place], stride_in(s.call.value[statistics].region, 0),
            row_length(s), s.call.attributes.template as<Own>().epsilon};
}

template <class Own, class Real>
void normalize_rows(const shard<Real>& s) {
    const int x = s.input();
    const int y = s.output();
    const Real* const px = s.value(x);
    const Real* const gamma = s.value(s.parameter(0));
    const Real* const beta = s.value(s.parameter(1));
    Real* const py = s.value(y);
    s.walk({s.value_at(x), s.value_at(s.parameter(0)), s.value_at(s.parameter(1)), s.value_at(y),
            s.value_at(s.intermediate(0))},
           [&](const auto& r) {
               const row_moments m = moments_at<Own>(s, r, 4);
               for (index_t i = 0; i < r.count; ++i) {
                   const double normal = (static_cast<double>(px[r.at[0] + i * r.step[0]]) - m.mean) * m.inverse;
                   py[r.at[3] + i * r.step[3]] =
                       static_cast<Real>(static_cast<double>(gamma[r.at[1] + i * r.step[1]]) * normal +
                                         static_cast<double>(beta[r.at[2] + i * r.step[2]]));
               }
           });
}

/// The reverse of the second nest of layer norm: dy * xhat for gamma; sums of dy * gamma and of dy * gamma * xhat for
/// the statistics.
template <class Own, class Real>
void row_statistics_gradient(const shard<Real>& s, int o) {
    const int x = s.input();
    const int y = s.output();
    const Real* const dy = s.gradient(y);
    const Real* const px = s.value(x);
    const bool for_gamma = s.d.operands[o].kind == operand_kind::parameter;
    const int scale = s.parameter(0);
    const Real* const gamma = for_gamma ? nullptr : s.value(scale);
    Real* const to = for_gamma ? s.gradient(o) : nullptr;
    double* const sums = for_gamma ? nullptr : s.template gradient<double>(o);
    const index_t apart = for_gamma ? 0 : stride_in(s.call.gradient[o].region, 0);
    s.walk({s.gradient_at(y), s.value_at(x), s.gradient_at(o), s.value_at(s.intermediate(0)),
            for_gamma ? cursor() : s.value_at(scale)},
           [&](const auto& r) {
               const row_moments m = moments_at<Own>(s, r, 3);
               for (index_t i = 0; i < r.count; ++i) {
                   const double g = static_cast<double>(dy[r.at[0] + i * r.step[0]]);
                   const double normal = (static_cast<double>(px[r.at[1] + i * r.step[1]]) - m.mean) * m.inverse;
                   const index_t at = r.at[2] + i * r.step[2];
                   if (for_gamma) {
                       to[at] += static_cast<Real>(g * normal);
                   } else {
                       const double scaled = g * static_cast<double>(gamma[r.at[4] + i * r.step[4]]);
                       sums[at] += scaled;
                       sums[at + apart] += scaled * normal;
                   }
               }
           });
}

/// The reverse of the first nest: dx = (dy * gamma - (sum of dy*gamma + xhat * sum of dy*gamma*xhat) / count) / sigma.
template <class Own, class Real>
void normalize_rows_gradient(const shard<Real>& s, int o) {
    const int y = s.output();
    const int statistics = s.intermediate(0);
    const double count = static_cast<double>(row_length(s));
    const Real* const dy = s.gradient(y);
    const Real* const px = s.value(o);
    const Real* const gamma = s.value(s.parameter(0));
    const double* const sums = s.template gradient<double>(statistics);
    const index_t apart = stride_in(s.call.gradient[statistics].region, 0);
    Real* const to = s.gradient(o);
    s.walk({s.gradient_at(y), s.value_at(o), s.value_at(s.parameter(0)), s.value_at(statistics),
            s.gradient_at(statistics), s.gradient_at(o)},
           [&](const auto& r) {
               const row_moments m = moments_at<Own>(s, r, 3);
               const double* const sum = sums + r.at[4];
               for (index_t i = 0; i < r.count; ++i) {
                   const double normal = (static_cast<double>(px[r.at[1] + i * r.step[1]]) - m.mean) * m.inverse;
                   const double g = static_cast<double>(dy[r.at[0] + i * r.step[0]]) *
                                    static_cast<double>(gamma[r.at[2] + i * r.step[2]]);
                   to[r.at[5] + i * r.step[5]] +=
                       static_cast<Real>(m.inverse * (g - (sum[0] + normal * sum[apart]) / count));
               }
           });
}

template <class Own>
struct row_norm_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int nest) {
        nest == 0 ? sum_statistics(s) : normalize_rows<Own>(s);
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        if (o == s.input()) {
            return normalize_rows_gradient<Own>(s, o);
        }
        o == s.parameter(1) ? pass_gradient(s, o) : row_statistics_gradient<Own>(s, o);
    }
};

} // namespace tessera::reference::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/reference/normalization.inl"
#endif

#include "tessera/base/end_header.inl"
