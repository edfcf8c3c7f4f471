// SPDX-License-Identifier: Apache-2.0
// Layer normalization, softmax and look-ups in plain loops, forward and backward.
#pragma once

#include "tessera/backend/reference/shard.hpp"

#include <cmath>
#include <limits>

namespace tessera::reference::detail {

/// Mean and 1 / sqrt(variance + epsilon) of a row of `count` elements from the sums of x and x^2.
struct row_moments {
    double mean = 0;
    double inverse = 1;

    row_moments(const double* sum, index_t apart, index_t count, double epsilon) {
        mean = sum[0] / static_cast<double>(count);
        const double variance = sum[apart] / static_cast<double>(count) - mean * mean;
        inverse = 1 / std::sqrt((variance < 0 ? 0 : variance) + epsilon);
    }
};

template <class Real>
index_t row_length(const shard<Real>& s) {
    const shape& x = s.extents(s.input());
    return x[x.rank - 1];
}

/// The statistics of the row in which a run lies: the innermost loop is the row.
template <class Real, class Run>
row_moments moments_at(const shard<Real>& s, const Run& r, int place) {
    const int statistics = s.intermediate(0);
    return {s.template value<double>(statistics) + r.at[place], stride_in(s.call.value[statistics].region, 0),
            row_length(s), s.call.attributes.epsilon};
}

template <class Real>
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
               const row_moments m = moments_at(s, r, 4);
               for (index_t i = 0; i < r.count; ++i) {
                   const double normal = (static_cast<double>(px[r.at[0] + i * r.step[0]]) - m.mean) * m.inverse;
                   py[r.at[3] + i * r.step[3]] =
                       static_cast<Real>(static_cast<double>(gamma[r.at[1] + i * r.step[1]]) * normal +
                                         static_cast<double>(beta[r.at[2] + i * r.step[2]]));
               }
           });
}

/// The reverse of the second nest of layer norm: dy * xhat for gamma; sums of dy * gamma and of dy * gamma * xhat for the statistics.
template <class Real>
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
               const row_moments m = moments_at(s, r, 3);
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
template <class Real>
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
               const row_moments m = moments_at(s, r, 3);
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

/// How many of a run's columns a softmax sees: in a causal one, those up to the row's own number.
template <class Real, class Run>
index_t seen_columns(const shard<Real>& s, const Run& r) {
    const int column = s.d.loops.size() - 1;
    const index_t own = r.point[column - 1] + 1 - r.point[column];
    return !s.call.attributes.causal || own > r.count ? r.count : own;
}

template <class Real>
void row_maximum(const shard<Real>& s) {
    const Real* const px = s.value(s.input());
    Real* const to = s.value(s.intermediate(0));
    s.fill(s.intermediate(0), -std::numeric_limits<Real>::infinity());
    s.walk({s.value_at(s.input()), s.value_at(s.intermediate(0))}, [&](const auto& r) {
        const index_t seen = seen_columns(s, r);
        for (index_t i = 0; i < seen; ++i) {
            const Real x = px[r.at[0] + i * r.step[0]];
            to[r.at[1]] = x > to[r.at[1]] || std::isnan(x) ? x : to[r.at[1]];
        }
    });
}

template <class Real>
void row_exponentials(const shard<Real>& s) {
    const Real* const px = s.value(s.input());
    const Real* const top = s.value(s.intermediate(0));
    Real* const to = s.value(s.intermediate(1));
    s.fill(s.intermediate(1), Real(0));
    s.walk({s.value_at(s.input()), s.value_at(s.intermediate(0)), s.value_at(s.intermediate(1))}, [&](const auto& r) {
        const index_t seen = seen_columns(s, r);
        for (index_t i = 0; i < seen; ++i) {
            to[r.at[2]] += std::exp(px[r.at[0] + i * r.step[0]] - top[r.at[1]]);
        }
    });
}

template <class Real>
void row_softmax(const shard<Real>& s) {
    const Real* const px = s.value(s.input());
    const Real* const top = s.value(s.intermediate(0));
    const Real* const sum = s.value(s.intermediate(1));
    Real* const py = s.value(s.output());
    s.walk(
        {s.value_at(s.input()), s.value_at(s.intermediate(0)), s.value_at(s.intermediate(1)), s.value_at(s.output())},
        [&](const auto& r) {
            const index_t seen = seen_columns(s, r);
            for (index_t i = 0; i < r.count; ++i) {
                py[r.at[3] + i * r.step[3]] =
                    i < seen ? std::exp(px[r.at[0] + i * r.step[0]] - top[r.at[1]]) / sum[r.at[2]] : Real(0);
            }
        });
}

/// The sum of dy * y of every row.
template <class Real>
void row_total_gradient(const shard<Real>& s, int o) {
    const int y = s.output();
    const Real* const dy = s.gradient(y);
    const Real* const py = s.value(y);
    Real* const to = s.gradient(o);
    s.walk({s.gradient_at(y), s.value_at(y), s.gradient_at(o)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[2]] += dy[r.at[0] + i * r.step[0]] * py[r.at[1] + i * r.step[1]];
        }
    });
}

/// dx = y * (dy - sum of dy * y).
template <class Real>
void row_softmax_gradient(const shard<Real>& s, int o) {
    const int y = s.output();
    const int total = s.intermediate(1);
    const Real* const dy = s.gradient(y);
    const Real* const py = s.value(y);
    const Real* const sum = s.gradient(total);
    Real* const to = s.gradient(o);
    s.walk({s.gradient_at(y), s.value_at(y), s.gradient_at(total), s.gradient_at(o)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[3] + i * r.step[3]] += py[r.at[1] + i * r.step[1]] * (dy[r.at[0] + i * r.step[0]] - sum[r.at[2]]);
        }
    });
}

/// Divides a product, or its gradient, by the square root of the extent summed over, where the operator says so.
template <class Real>
void scale_product(const shard<Real>& s, Real* p, const box& region) {
    if (s.call.attributes.scaled) {
        const Real root = std::sqrt(static_cast<Real>(s.d.loops[s.d.find_loop(loop_name::reduction)].extent));
        for (index_t i = 0; i < region.volume(); ++i) {
            p[i] /= root;
        }
    }
}

/// Calls body(element of the table, element of y, distance of each) for the rows of the tokens that lie in the shard's part of the table.
template <class Real, class Body>
void for_each_look_up(const shard<Real>& s, const cursor& table_at, const cursor& y_at, Body&& body) {
    const int tokens = s.input();
    const int vocabulary = s.d.find_loop(loop_name::reduction);
    const interval rows = s.call.ranges[vocabulary];
    const std::int32_t* const token = s.template value<std::int32_t>(tokens);
    s.walk_over(s.output_loops(), 0, {s.value_at(tokens), table_at, y_at}, [&](const auto& r) {
        const index_t row = token[r.at[0]]; // the innermost loop is the channels
        if (row >= rows.begin && row < rows.end) {
            const index_t first = r.at[1] + row * table_at.step[vocabulary];
            for (index_t i = 0; i < r.count; ++i) {
                body(first + i * r.step[1], r.at[2] + i * r.step[2]);
            }
        }
    });
}

template <class Real>
void look_up(const shard<Real>& s) {
    const Real* const table = s.value(s.parameter(0));
    Real* const py = s.value(s.output());
    s.fill(s.output(), Real(0));
    for_each_look_up(s, s.value_at(s.parameter(0)), s.value_at(s.output()),
                     [&](index_t from, index_t to) { py[to] = table[from]; });
}

template <class Real>
void look_up_gradient(const shard<Real>& s, int o) {
    const Real* const dy = s.gradient(s.output());
    Real* const to = s.gradient(o);
    for_each_look_up(s, s.gradient_at(o), s.gradient_at(s.output()),
                     [&](index_t row, index_t from) { to[row] += dy[from]; });
}

template <class Real>
void add_table(const shard<Real>& s) {
    const Real* const px = s.value(s.input());
    const Real* const table = s.value(s.parameter(0));
    Real* const py = s.value(s.output());
    s.walk({s.value_at(s.input()), s.value_at(s.parameter(0)), s.value_at(s.output())}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            py[r.at[2] + i * r.step[2]] = px[r.at[0] + i * r.step[0]] + table[r.at[1] + i * r.step[1]];
        }
    });
}

} // namespace tessera::reference::detail
