// SPDX-License-Identifier: Apache-2.0
// The nests of every operator, forward, in plain loops.
#pragma once

#include "tessera/backend/reference/experts.hpp"
#include "tessera/backend/reference/rows.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace tessera::reference::detail {

/// The sum of products of two operands, without the points at which an operand is outside its tensor, and the bias.
template <class Real>
void multiply_accumulate(const shard<Real>& s, int x, int w) {
    const int y = s.output();
    const Real* const px = s.value(x);
    const Real* const pw = s.value(w);
    Real* const py = s.value(y);
    s.fill(y, Real(0));
    s.walk_over(s.all_loops(), bit(x) | bit(w) | bit(y), {s.value_at(x), s.value_at(w), s.value_at(y)},
                [&](const auto& r) {
                    Real sum = 0; // the innermost loop is summed over: its step in the output is 0
                    for (index_t i = 0; i < r.count; ++i) {
                        sum += px[r.at[0] + i * r.step[0]] * pw[r.at[1] + i * r.step[1]];
                    }
                    py[r.at[2]] += sum;
                });
    const int b = s.parameter(1);
    if (b >= 0 && s.call.first_part) {
        const Real* const pb = s.value(b);
        s.walk_over(s.output_loops(), bit(y), {s.value_at(b), s.value_at(y)}, [&](const auto& r) {
            for (index_t i = 0; i < r.count; ++i) {
                py[r.at[1] + i * r.step[1]] += pb[r.at[0] + i * r.step[0]];
            }
        });
    }
}

template <class Real>
void maximum(const shard<Real>& s, int from, int to) {
    const Real* const px = s.value(from);
    Real* const py = s.value(to);
    s.fill(to, -std::numeric_limits<Real>::infinity());
    s.walk_inside(from, {s.value_at(from), s.value_at(to)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            const Real x = px[r.at[0] + i * r.step[0]];
            Real& y = py[r.at[1] + i * r.step[1]];
            y = x > y || std::isnan(x) ? x : y;
        }
    });
}

template <class Real>
void average(const shard<Real>& s) {
    const int x = s.input();
    const int y = s.output();
    const Real* const px = s.value(x);
    Real* const py = s.value(y);
    s.fill(y, Real(0));
    s.walk_inside(x, {s.value_at(x), s.value_at(y)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            py[r.at[1] + i * r.step[1]] += px[r.at[0] + i * r.step[0]];
        }
    });
    const bool global = s.call.attributes.kind == op_kind::global_average_pool;
    const int row = s.d.find_loop(loop_name::height);
    const int column = s.d.find_loop(loop_name::width);
    s.walk_over(s.output_loops(), 0, {s.value_at(y)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            const index_t divisor = global ? s.extents(x)[2] * s.extents(x)[3]
                                           : s.window_count(0, r.point[row]) * s.window_count(1, r.point[column] + i);
            py[r.at[0] + i * r.step[0]] /= static_cast<Real>(divisor);
        }
    });
}

template <class Real>
Real normal_distribution(Real x) {
    return Real(0.5) * std::erfc(-x * Real(0.70710678118654752440));
}

template <class Real, class Function>
void map(const shard<Real>& s, int from, Function f) {
    const int y = s.output();
    const Real* const px = s.value(from);
    Real* const py = s.value(y);
    s.walk_inside(from, {s.value_at(from), s.value_at(y)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            py[r.at[1] + i * r.step[1]] = f(px[r.at[0] + i * r.step[0]]);
        }
    });
}

template <class Real, class Function>
void combine(const shard<Real>& s, Function f) {
    const int y = s.output();
    const Real* const pa = s.value(s.input(0));
    const Real* const pb = s.value(s.input(1));
    Real* const py = s.value(y);
    s.walk({s.value_at(s.input(0)), s.value_at(s.input(1)), s.value_at(y)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            py[r.at[2] + i * r.step[2]] = f(pa[r.at[0] + i * r.step[0]], pb[r.at[1] + i * r.step[1]]);
        }
    });
}

/// What dropout numbers its decisions by: the global index of the element, or of the sample's channel.
template <class Real>
cursor mask_at(const shard<Real>& s) {
    if (s.call.attributes.kind == op_kind::dropout) {
        return s.global_at(s.output());
    }
    cursor c;
    c.step[0] = s.extents(s.output())[1];
    c.step[1] = 1;
    return c;
}

/// Dropout of values (forward) or of gradients (backward).
template <class Real>
void drop(const shard<Real>& s, const Real* from, const cursor& from_at, Real* to, const cursor& to_at) {
    if (s.call.run == nullptr) {
        throw error("tessera: dropout needs the state of the run (seed and step)");
    }
    const int percent = s.call.attributes.percent;
    const std::uint64_t key = op::mask_key(s.call.run->seed, s.call.run->step, s.call.op);
    const Real scale = static_cast<Real>(op::kept_scale(percent));
    s.walk({from_at, to_at, mask_at(s)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            const bool keep = op::keeps(key, r.at[2] + i * r.step[2], percent);
            to[r.at[1] + i * r.step[1]] = keep ? scale * from[r.at[0] + i * r.step[0]] : Real(0);
        }
    });
}

/// Mean and 1 / sqrt(variance + epsilon) of the channels of a shard, from sums over the global batch or from running statistics.
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
            n.inverse.push_back(1 / std::sqrt(variance + s.call.attributes.epsilon));
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
void sum_statistics(const shard<Real>& s) {
    const int x = s.input();
    const int to = s.intermediate(0);
    const Real* const px = s.value(x);
    double* const sums = s.template value<double>(to);
    const index_t apart = stride_in(s.call.value[to].region, 0);
    s.fill(to, 0.0);
    s.walk({s.value_at(x), s.value_at(to)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            const double value = static_cast<double>(px[r.at[0] + i * r.step[0]]);
            double* const sum = sums + r.at[1] + i * r.step[1];
            sum[0] += value;
            sum[apart] += value * value;
        }
    });
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
                   const auto c = static_cast<std::size_t>(r.at[4] + i * r.step[4]);
                   const double normal = (static_cast<double>(px[r.at[0] + i * r.step[0]]) - n.mean[c]) * n.inverse[c];
                   py[r.at[3] + i * r.step[3]] =
                       static_cast<Real>(static_cast<double>(gamma[r.at[1] + i * r.step[1]]) * normal +
                                         static_cast<double>(beta[r.at[2] + i * r.step[2]]));
               }
           });
}

/// A class's index at every point of a cross-entropy.
inline cursor class_at() {
    cursor c;
    c.step[1] = 1;
    return c;
}

template <class Real>
void sum_exponentials(const shard<Real>& s) {
    const int x = s.input();
    const int largest = s.intermediate(0);
    const int total = s.intermediate(1);
    const Real* const px = s.value(x);
    const Real* const top = s.value(largest);
    Real* const to = s.value(total);
    s.fill(total, Real(0));
    s.walk({s.value_at(x), s.value_at(largest), s.value_at(total)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[2] + i * r.step[2]] += std::exp(px[r.at[0] + i * r.step[0]] - top[r.at[1] + i * r.step[1]]);
        }
    });
}

/// log(sum of exp(x)) - x[label], from the shard that has the label's class.
template <class Real>
void negative_log_likelihood(const shard<Real>& s) {
    const int x = s.input();
    const int largest = s.intermediate(0);
    const int total = s.intermediate(1);
    const int y = s.output();
    const Real* const px = s.value(x);
    const std::int32_t* const labels = s.template value<std::int32_t>(s.input(1));
    const Real* const top = s.value(largest);
    const Real* const sum = s.value(total);
    Real* const py = s.value(y);
    s.fill(y, Real(0));
    s.walk({s.value_at(x), s.value_at(s.input(1)), s.value_at(largest), s.value_at(total), s.value_at(y), class_at()},
           [&](const auto& r) {
               for (index_t i = 0; i < r.count; ++i) {
                   if (labels[r.at[1] + i * r.step[1]] == r.at[5] + i * r.step[5]) {
                       py[r.at[4] + i * r.step[4]] += std::log(sum[r.at[3] + i * r.step[3]]) +
                                                      top[r.at[2] + i * r.step[2]] - px[r.at[0] + i * r.step[0]];
                   }
               }
           });
}

/// One nest of the forward pass (or of an evaluation).
template <class Real>
void forward(const shard<Real>& s, int nest_index) {
    switch (s.call.attributes.kind) {
    case op_kind::conv2d:
    case op_kind::linear:
    case op_kind::transposed_conv2d:
    case op_kind::expert_linear:
        return multiply_accumulate(s, s.input(), s.parameter(0));
    case op_kind::max_pool:
        return maximum(s, s.input(), s.output());
    case op_kind::average_pool:
    case op_kind::global_average_pool:
        return average(s);
    case op_kind::relu:
        return map(s, s.input(), [](Real x) { return x > 0 || std::isnan(x) ? x : Real(0); });
    case op_kind::sigmoid:
        return map(s, s.input(), [](Real x) { return 1 / (1 + std::exp(-x)); });
    case op_kind::tanh:
        return map(s, s.input(), [](Real x) { return std::tanh(x); });
    case op_kind::gelu:
        return map(s, s.input(), [](Real x) { return x * normal_distribution(x); });
    case op_kind::add:
        return combine(s, [](Real a, Real b) { return a + b; });
    case op_kind::multiply:
        return combine(s, [](Real a, Real b) { return a * b; });
    case op_kind::concat:
        for (int k = 0; s.input(k) >= 0; ++k) {
            if (!s.touched(s.input(k)).empty()) {
                map(s, s.input(k), [](Real x) { return x; });
            }
        }
        return;
    case op_kind::flatten:
    case op_kind::slice:
        return map(s, s.input(), [](Real x) { return x; });
    case op_kind::dropout:
    case op_kind::channel_dropout:
        return s.call.what == pass::evaluate
                   ? map(s, s.input(), [](Real x) { return x; })
                   : drop(s, s.value(s.input()), s.value_at(s.input()), s.value(s.output()), s.value_at(s.output()));
    case op_kind::batch_norm:
        if (nest_index == 1) {
            return normalize(s);
        }
        return s.call.what == pass::evaluate ? void() : sum_statistics(s);
    case op_kind::layer_norm:
        return nest_index == 0 ? sum_statistics(s) : normalize_rows(s);
    case op_kind::softmax:
        return nest_index == 0 ? row_maximum(s) : nest_index == 1 ? row_exponentials(s) : row_softmax(s);
    case op_kind::matmul:
        multiply_accumulate(s, s.input(0), s.input(1));
        return scale_product(s, s.value(s.output()), s.call.value[s.output()].region);
    case op_kind::embedding:
        return look_up(s);
    case op_kind::position_embedding:
        return add_table(s);
    case op_kind::route:
        return route(s);
    case op_kind::cross_entropy:
        return nest_index == 0   ? maximum(s, s.input(), s.intermediate(0))
               : nest_index == 1 ? sum_exponentials(s)
                                 : negative_log_likelihood(s);
    }
}

} // namespace tessera::reference::detail
