// SPDX-License-Identifier: Apache-2.0
// Convolutions, linear layers and matrix products: sums of products of two operands.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/loops.hpp"
#include "tessera/backend/reference/op/row.hpp"

#include <cmath>

namespace tessera::reference {

namespace detail {

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

/// Divides a product, or its gradient, by the square root of the extent summed over, where the operator says so.
template <class Real>
void scale_product(const shard<Real>& s, Real* p, const box& region) {
    if (s.call.attributes.template as<op::matmul_attributes>().scaled) {
        const Real root = std::sqrt(static_cast<Real>(s.d.loops[s.d.find_loop(loop_name::reduction)].extent));
        for (index_t i = 0; i < region.volume(); ++i) {
            p[i] /= root;
        }
    }
}

/// An input times a weight, and a bias.
struct weighted_sum {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        multiply_accumulate(s, s.input(), s.parameter(0));
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        if (s.d.operands[o].additive) {
            return bias_gradient(s, o);
        }
        multiply_gradient(s, o, o == s.input() ? s.parameter(0) : s.input(),
                          bit(s.input()) | bit(s.parameter(0)) | bit(s.output()));
    }
};

struct matrix_product {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        multiply_accumulate(s, s.input(0), s.input(1));
        scale_product(s, s.value(s.output()), s.call.value[s.output()].region);
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        multiply_gradient(s, o, s.input(s.d.operands[o].slot == 0 ? 1 : 0), 0);
        scale_product(s, s.gradient(o), s.call.gradient[o].region);
    }
};

} // namespace detail

inline constexpr row_list product_rows{
    row<op::conv2d_record, detail::weighted_sum, true>{},  row<op::conv3d_record, detail::weighted_sum, true>{},
    row<op::linear_record, detail::weighted_sum, true>{},  row<op::transposed_conv2d_record, detail::weighted_sum>{},
    row<op::expert_linear_record, detail::weighted_sum>{}, row<op::matmul_record, detail::matrix_product>{},
};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
