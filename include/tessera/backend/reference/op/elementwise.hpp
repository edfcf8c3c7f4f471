// SPDX-License-Identifier: Apache-2.0
// Element-wise operators. One of one input is a row of two functions.
#pragma once

#include "tessera/backend/reference/loops.hpp"
#include "tessera/backend/reference/op/function.hpp"
#include "tessera/backend/reference/op/row.hpp"

#include <cmath>

namespace tessera::reference {

namespace detail {

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

template <class Real>
Real normal_distribution(Real x) {
    return Real(0.5) * std::erfc(-x * Real(0.70710678118654752440));
}

/// Not a factor: what is not finite stays out of what is clipped.
struct relu_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        map(s, s.input(), [](Real x) { return x > 0 || std::isnan(x) ? x : Real(0); });
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        clip_gradient(s, o);
    }
};

struct add_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        combine(s, [](Real a, Real b) { return a + b; });
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        pass_gradient(s, o);
    }
};

struct multiply_loops {
    template <class Real>
    static void forward(const shard<Real>& s, int) {
        combine(s, [](Real a, Real b) { return a * b; });
    }
    template <class Real>
    static void backward(const shard<Real>& s, int o) {
        multiply_gradient(s, o, s.input(s.d.operands[o].slot == 0 ? 1 : 0), 0);
    }
};

} // namespace detail

template <class Real>
inline constexpr operator_row<Real> elementwise_rows[] = {
    row_of<Real, detail::relu_loops>(op::relu_record),
    function_row<Real>(
        op::sigmoid_record, [](auto x) { return 1 / (1 + std::exp(-x)); }, [](auto y) { return y * (1 - y); }),
    function_row<Real>(
        op::tanh_record, [](auto x) { return std::tanh(x); }, [](auto y) { return 1 - y * y; }),
    function_row<Real>(
        op::gelu_record, [](auto x) { return x * detail::normal_distribution(x); },
        [](auto x) {
            return detail::normal_distribution(x) + x * std::exp(-x * x / 2) * decltype(x)(0.39894228040143267794);
        }),
    function_row<Real>(
        op::silu_record, [](auto x) { return x / (1 + std::exp(-x)); },
        [](auto x) { return (1 + x - x / (1 + std::exp(-x))) / (1 + std::exp(-x)); }),
    row_of<Real, detail::add_loops>(op::add_record),
    row_of<Real, detail::multiply_loops>(op::multiply_record),
};

} // namespace tessera::reference
