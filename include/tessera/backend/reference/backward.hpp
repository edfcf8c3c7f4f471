// SPDX-License-Identifier: Apache-2.0
// The gradients of every operator in plain loops: at each point, gradient[operand] += gradient[output] * d(body)/d(operand).
#pragma once

#include "tessera/backend/reference/forward.hpp"

namespace tessera::reference::detail {

/// gradient[o] += gradient[output] * value[other], the rule of products, without the points at which one of `inside` is outside its tensor.
template <class Real>
void multiply_gradient(const shard<Real>& s, int o, int other, std::uint32_t inside) {
    const int y = s.output();
    const Real* const dy = s.gradient(y);
    const Real* const factor = s.value(other);
    Real* const to = s.gradient(o);
    s.walk_over(s.all_loops(), inside, {s.gradient_at(y), s.value_at(other), s.gradient_at(o)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[2] + i * r.step[2]] += dy[r.at[0] + i * r.step[0]] * factor[r.at[1] + i * r.step[1]];
        }
    });
}

/// The gradient of a bias: only its first part has one, and points that differ in summed loops alone count once.
template <class Real>
void bias_gradient(const shard<Real>& s, int o) {
    if (!s.call.first_part) {
        return;
    }
    const Real* const dy = s.gradient(s.output());
    Real* const to = s.gradient(o);
    s.walk_over(s.output_loops(), bit(s.output()), {s.gradient_at(s.output()), s.gradient_at(o)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[1] + i * r.step[1]] += dy[r.at[0] + i * r.step[0]];
        }
    });
}

/// The first of the largest elements of a window, in row-major order, gets the gradient. NaN is larger than everything, and of several the last
/// one gets it, as in PyTorch.
template <class Real>
void maximum_gradient(const shard<Real>& s, int o) {
    const int y = s.output();
    const Real* const px = s.value(o);
    const Real* const dy = s.gradient(y);
    Real* const to = s.gradient(o);
    struct candidate {
        Real value = 0;
        index_t where = -1; ///< in the gradient of the input
    };
    std::vector<candidate> best(static_cast<std::size_t>(s.touched(y).volume()));
    s.walk_inside(o, {s.value_at(o), s.gradient_at(o), s.local_at(y)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            const Real x = px[r.at[0] + i * r.step[0]];
            candidate& b = best[static_cast<std::size_t>(r.at[2] + i * r.step[2])];
            if (b.where < 0 || x > b.value || std::isnan(x)) {
                b = {x, r.at[1] + i * r.step[1]};
            }
        }
    });
    s.walk_over(s.output_loops(), 0, {s.gradient_at(y), s.local_at(y)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            const index_t where = best[static_cast<std::size_t>(r.at[1] + i * r.step[1])].where;
            if (where >= 0) {
                to[where] += dy[r.at[0] + i * r.step[0]];
            }
        }
    });
}

template <class Real>
void average_gradient(const shard<Real>& s, int o) {
    const int y = s.output();
    const Real* const dy = s.gradient(y);
    Real* const to = s.gradient(o);
    const bool global = s.call.attributes.kind == op_kind::global_average_pool;
    const int row = s.d.find_loop(loop_name::height);
    const int column = s.d.find_loop(loop_name::width);
    s.walk_inside(o, {s.gradient_at(y), s.gradient_at(o)}, [&](const auto& r) {
        // A window's loops are inside the rows and columns, which therefore stay the same along a run.
        const index_t divisor = global ? s.extents(o)[2] * s.extents(o)[3]
                                       : s.window_count(0, r.point[row]) * s.window_count(1, r.point[column]);
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[1] + i * r.step[1]] += dy[r.at[0] + i * r.step[0]] / static_cast<Real>(divisor);
        }
    });
}

/// gradient[o] = gradient[output], where the index of `o` is inside it.
template <class Real>
void pass_gradient(const shard<Real>& s, int o) {
    const Real* const dy = s.gradient(s.output());
    Real* const to = s.gradient(o);
    s.walk_inside(o, {s.gradient_at(s.output()), s.gradient_at(o)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[1] + i * r.step[1]] += dy[r.at[0] + i * r.step[0]];
        }
    });
}

/// gradient[o] = 0 where the output is at most 0, else gradient[output], also where the output is NaN.
template <class Real>
void clip_gradient(const shard<Real>& s, int o) {
    const Real* const dy = s.gradient(s.output());
    const Real* const py = s.value(s.output());
    Real* const to = s.gradient(o);
    s.walk({s.gradient_at(s.output()), s.value_at(s.output()), s.gradient_at(o)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[2] + i * r.step[2]] = py[r.at[1] + i * r.step[1]] <= 0 ? Real(0) : dy[r.at[0] + i * r.step[0]];
        }
    });
}

/// gradient[o] = gradient[output] * derivative(value[from]).
template <class Real, class Function>
void map_gradient(const shard<Real>& s, int o, int from, Function derivative) {
    const Real* const dy = s.gradient(s.output());
    const Real* const px = s.value(from);
    Real* const to = s.gradient(o);
    s.walk({s.gradient_at(s.output()), s.value_at(from), s.gradient_at(o)}, [&](const auto& r) {
        for (index_t i = 0; i < r.count; ++i) {
            to[r.at[2] + i * r.step[2]] += dy[r.at[0] + i * r.step[0]] * derivative(px[r.at[1] + i * r.step[1]]);
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
            const auto c = static_cast<std::size_t>(r.at[3] + i * r.step[3]);
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

/// The reverse of the first nest: dx = gamma / sigma * (dy - (sum of dy + normalized x * sum of dy * normalized x) / count).
/// Ioffe and Szegedy, "Batch normalization" (ICML 2015), section 3, simplified.
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
                   const auto c = static_cast<std::size_t>(r.at[5] + i * r.step[5]);
                   const double* const sum = sums + r.at[3] + i * r.step[3];
                   const double normal = (static_cast<double>(px[r.at[1] + i * r.step[1]]) - n.mean[c]) * n.inverse[c];
                   const double g = static_cast<double>(dy[r.at[0] + i * r.step[0]]);
                   to[r.at[4] + i * r.step[4]] +=
                       static_cast<Real>(static_cast<double>(gamma[r.at[2] + i * r.step[2]]) * n.inverse[c] *
                                         (g - (sum[0] + normal * sum[apart]) / count));
               }
           });
}

/// (softmax - 1 at the label) * loss_scale.
template <class Real>
void softmax_gradient(const shard<Real>& s, int o) {
    const int largest = s.intermediate(0);
    const int total = s.intermediate(1);
    const Real* const px = s.value(o);
    const std::int32_t* const labels = s.template value<std::int32_t>(s.input(1));
    const Real* const top = s.value(largest);
    const Real* const sum = s.value(total);
    const Real scale = static_cast<Real>(s.call.loss_scale);
    Real* const to = s.gradient(o);
    s.walk(
        {s.value_at(o), s.value_at(s.input(1)), s.value_at(largest), s.value_at(total), s.gradient_at(o), class_at()},
        [&](const auto& r) {
            for (index_t i = 0; i < r.count; ++i) {
                const Real p =
                    std::exp(px[r.at[0] + i * r.step[0]] - top[r.at[2] + i * r.step[2]]) / sum[r.at[3] + i * r.step[3]];
                const bool hit = labels[r.at[1] + i * r.step[1]] == r.at[5] + i * r.step[5];
                to[r.at[4] + i * r.step[4]] += (p - (hit ? Real(1) : Real(0))) * scale;
            }
        });
}

/// The shard's contribution to the gradient of operand `o`.
template <class Real>
void backward(const shard<Real>& s, int o) {
    const operand& target = s.d.operands[o];
    const bool untouched = s.touched(o).empty();
    if (untouched && s.call.gradient[o].data == nullptr) {
        return; // another input of a concatenation, or padding alone: there is no tile
    }
    if (target.type == element::f64) {
        s.template clear_gradient<double>(o);
    } else {
        s.clear_gradient(o);
    }
    if (untouched) {
        return;
    }
    switch (s.call.attributes.kind) {
    case op_kind::conv2d:
    case op_kind::linear:
    case op_kind::transposed_conv2d:
    case op_kind::expert_linear:
        return target.additive ? bias_gradient(s, o)
                               : multiply_gradient(s, o, o == s.input() ? s.parameter(0) : s.input(),
                                                   bit(s.input()) | bit(s.parameter(0)) | bit(s.output()));
    case op_kind::max_pool:
        return maximum_gradient(s, o);
    case op_kind::average_pool:
    case op_kind::global_average_pool:
        return average_gradient(s, o);
    case op_kind::relu:
        return clip_gradient(s, o);
    case op_kind::sigmoid:
        return map_gradient(s, o, s.output(), [](Real y) { return y * (1 - y); });
    case op_kind::tanh:
        return map_gradient(s, o, s.output(), [](Real y) { return 1 - y * y; });
    case op_kind::gelu:
        return map_gradient(s, o, o, [](Real x) {
            return normal_distribution(x) + x * std::exp(-x * x / 2) * Real(0.39894228040143267794);
        });
    case op_kind::multiply:
        return multiply_gradient(s, o, s.input(target.slot == 0 ? 1 : 0), 0);
    case op_kind::add:
    case op_kind::concat:
    case op_kind::flatten:
    case op_kind::slice:
    case op_kind::position_embedding:
        return pass_gradient(s, o);
    case op_kind::dropout:
    case op_kind::channel_dropout:
        return drop(s, s.gradient(s.output()), s.gradient_at(s.output()), s.gradient(o), s.gradient_at(o));
    case op_kind::batch_norm:
        if (o == s.input()) {
            return normalize_gradient(s, o);
        }
        return o == s.parameter(1) ? pass_gradient(s, o) : statistics_gradient(s, o);
    case op_kind::layer_norm:
        if (o == s.input()) {
            return normalize_rows_gradient(s, o);
        }
        return o == s.parameter(1) ? pass_gradient(s, o) : row_statistics_gradient(s, o);
    case op_kind::softmax:
        return o == s.input() ? row_softmax_gradient(s, o) : row_total_gradient(s, o);
    case op_kind::matmul:
        multiply_gradient(s, o, s.input(target.slot == 0 ? 1 : 0), 0);
        return scale_product(s, s.gradient(o), s.call.gradient[o].region);
    case op_kind::embedding:
        return look_up_gradient(s, o);
    case op_kind::route:
        return route_gradient(s, o);
    case op_kind::cross_entropy:
        return softmax_gradient(s, o);
    }
}

} // namespace tessera::reference::detail
