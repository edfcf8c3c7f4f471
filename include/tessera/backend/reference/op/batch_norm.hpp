// SPDX-License-Identifier: Apache-2.0
// Batch normalization.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/loops.hpp"
#include "tessera/backend/reference/op/row.hpp"
#include "tessera/backend/reference/statistics.hpp"

#include <cmath>
#include <vector>

namespace tessera::reference {

namespace detail {

/// Mean and 1 / sqrt(variance + epsilon) of the channels of a shard, from sums over the global batch or from running
/// statistics.
struct normalizer {
    std::vector<double> mean;
    std::vector<double> inverse;
    cursor at;
};

/// Elements per channel of the global batch, or of the micro-batch that the call belongs to.
template <class Real>
index_t elements_per_channel(const shard<Real>& s) {
    const shape& x = s.extents(s.input());
    const index_t samples = s.call.samples > 0 ? s.call.samples : x[0];
    return x.volume() / x[0] / x[1] * samples;
}

template <class Real>
normalizer normalize_by(const shard<Real>& s) {
    const bool running = s.call.what == pass::evaluate;
    const int source = running ? s.d.find_operand(operand_kind::state, 2) : s.intermediate(0);
    const box& tile = s.call.value[source].region;
    const interval channels = s.call.ranges[1];
    const double count = static_cast<double>(elements_per_channel(s));
    const double epsilon = s.call.attributes.template as<op::batch_norm_attributes>().epsilon;
    normalizer n;
    const auto add = [&](const auto* p) {
        const index_t apart = stride_in(tile, 0);
        for (index_t c = channels.begin; c < channels.end; ++c) {
            const double first = static_cast<double>(p[c - tile.dim[1].begin]);
            const double second = static_cast<double>(p[c - tile.dim[1].begin + apart]);
            const double mean = running ? first : first / count;
            double variance = running ? second : second / count - mean * mean;
            variance = variance < 0 ? 0 : variance; // rounding; NaN stays
            n.mean.push_back(mean);
            n.inverse.push_back(1 / std::sqrt(variance + epsilon));
        }
    };
    if (running) {
        add(s.value(source));
    } else {
        add(s.template value<double>(source));
    }
    n.at.base = -channels.begin;
    n.at.step[1] = 1;
    return n;
}

template <class Real>
void normalize(const shard<Real>& s) {
    const int x = s.input();
    const int y = s.output();
    const normalizer n = normalize_by(s);
    const Real* const px = s.value(x);
    const Real* const gamma = s.value(s.parameter(0));
    const Real* const beta = s.value(s.parameter(1));
    Real* const py = s.value(y);
    s.walk({s.value_at(x), s.value_at(s.parameter(0)), s.value_at(s.parameter(1)), s.value_at(y), n.at},
           [&](const auto& r) {
               for (index_t i = 0; i < r.count; ++i) {
                   const auto c = to_size(r.at[4] + i * r.step[4]);
                   const double normal = (static_cast<double>(px[r.at[0] + i * r.step[0]]) - n.mean[c]) * n.inverse[c];
                   py[r.at[3] + i * r.step[3]] =
                       static_cast<Real>(static_cast<double>(gamma[r.at[1] + i * r.step[1]]) * normal +
                                         static_cast<double>(beta[r.at[2] + i * r.step[2]]));
               }
           });
}

/// The reverse of the second nest of batch norm: sums of dy and of dy * normalized x, for the statistics and for gamma.
template <class Real>
void statistics_gradient(const shard<Real>& s, int o) {
    const int x = s.input();
    const int y = s.output();
    const normalizer n = normalize_by(s);
    const Real* const dy = s.gradient(y);
    const Real* const px = s.value(x);
    const bool for_gamma = s.d.operands[o].kind == operand_kind::parameter;
    Real* const gamma = for_gamma ? s.gradient(o) : nullptr;
    double* const sums = for_gamma ? nullptr : s.template gradient<double>(o);
    const index_t apart = for_gamma ? 0 : stride_in(s.call.gradient[o].region, 0);
    s.walk({s.gradient_at(y), s.value_at(x), s.gradient_at(o), n.at}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            const auto c = to_size(r.at[3] + i * r.step[3]);
            const index_t to = r.at[2] + i * r.step[2];
            const double g = static_cast<double>(dy[r.at[0] + i * r.step[0]]);
            const double normal = (static_cast<double>(px[r.at[1] + i * r.step[1]]) - n.mean[c]) * n.inverse[c];
            if (for_gamma) {
                gamma[to] += static_cast<Real>(g * normal);
            } else {
                sums[to] += g;
                sums[to + apart] += g * normal;
            }
        }
    });
}

/// The reverse of the first nest: dx = gamma / sigma * (dy - (sum of dy + normalized x * sum of dy * normalized x) /
/// count). Ioffe and Szegedy, "Batch normalization" (ICML 2015), section 3, simplified.
template <class Real>
void normalize_gradient(const shard<Real>& s, int o) {
    const int y = s.output();
    const int statistics = s.intermediate(0);
    const normalizer n = normalize_by(s);
    const double count = static_cast<double>(elements_per_channel(s));
    const Real* const dy = s.gradient(y);
    const Real* const px = s.value(o);
    const Real* const gamma = s.value(s.parameter(0));
    const double* const sums = s.template gradient<double>(statistics);
    const index_t apart = stride_in(s.call.gradient[statistics].region, 0);
    Real* const to = s.gradient(o);
    s.walk({s.gradient_at(y), s.value_at(o), s.value_at(s.parameter(0)), s.gradient_at(statistics), s.gradient_at(o),
            n.at},
           [&](const auto& r) {
               for (index_t i = 0; i < r.count; ++i) {
                   const auto c = to_size(r.at[5] + i * r.step[5]);
                   const double* const sum = sums + r.at[3] + i * r.step[3];
                   const double normal = (static_cast<double>(px[r.at[1] + i * r.step[1]]) - n.mean[c]) * n.inverse[c];
                   const double g = static_cast<double>(dy[r.at[0] + i * r.step[0]]);
                   to[r.at[4] + i * r.step[4]] +=
                       static_cast<Real>(static_cast<double>(gamma[r.at[2] + i * r.step[2]]) * n.inverse[c] *
                                         (g - (sum[0] + normal * sum[apart]) / count));
               }
           });
}

struct batch_norm_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int nest) {
        if (nest == 1) {
            normalize(s);
        } else if (s.call.what != pass::evaluate) {
            sum_statistics(s);
        }
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        if (o == s.input()) {
            return normalize_gradient(s, o);
        }
        o == s.parameter(1) ? pass_gradient(s, o) : statistics_gradient(s, o);
    }
};

} // namespace detail

inline constexpr row_list batch_norm_rows{
    row<op::batch_norm_record, detail::batch_norm_loops>{},
};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
