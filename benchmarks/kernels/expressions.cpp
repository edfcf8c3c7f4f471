// SPDX-License-Identifier: Apache-2.0
// Kernels that are made of expressions against the same written by hand, one thread, in turns:
//   g++ -O2 -std=c++20 -I. -Iinclude benchmarks/kernels/expressions.cpp && ./a.out
// Each ratio (time by hand / time of the expression's, above 1 where the expression's is faster) is the median over
// rounds in which the two took their slices one after the other. Arrays of 4096 numbers lie in the first cache, of 10^5
// in the second. Then SwiGLU, silu(a) * b, fused against its two operators one after the other, on arrays of 64 KB and
// 16 MB.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "benchmarks/support/timing.hpp"
#include "tessera/backend/host/kernels/expression.hpp"
#include "tessera/backend/host/op/formula_steps.hpp"
#include "tessera/op/expression/compose.hpp"
#include "tessera/op/records.hpp"

namespace {

namespace ts = tessera;
namespace k = ts::host::kernels;

} // namespace

// By hand: for the two instruction sets that have vectors of their own.
// clang-format off
#define BY_HAND \
    template <class Function> \
    [[gnu::always_inline]] inline void each(const float* a, float* to, std::ptrdiff_t count, Function f) { \
        for (std::ptrdiff_t i = 0; i < count; i += width) \
            store_some(to + i, f(load_some(a + i, count - i, 1.0F)), count - i); \
    } \
    template <class Function> \
    [[gnu::always_inline]] inline void each(const float* a, const float* b, float* to, std::ptrdiff_t count, Function f) { \
        for (std::ptrdiff_t i = 0; i < count; i += width) \
            store_some(to + i, f(load_some(a + i, count - i, 1.0F), load_some(b + i, count - i, 1.0F)), count - i); \
    } \
    struct relu_value { [[gnu::always_inline]] vec operator()(vec x) const { return positive(x); } }; \
    struct relu_slope { [[gnu::always_inline]] vec operator()(vec y, vec dy) const { return y <= vec{} ? vec{} : dy; } }; \
    struct sigmoid_value { [[gnu::always_inline]] vec operator()(vec x) const { return sigmoid_of(x); } }; \
    struct sigmoid_slope { [[gnu::always_inline]] vec operator()(vec y, vec dy) const { return dy * y * (broadcast(1.0F) - y); } }; \
    struct tanh_value { [[gnu::always_inline]] vec operator()(vec x) const { return tanh_of(x); } }; \
    struct tanh_slope { [[gnu::always_inline]] vec operator()(vec y, vec dy) const { return dy * (broadcast(1.0F) - y * y); } }; \
    struct gelu_value { [[gnu::always_inline]] vec operator()(vec x) const { return x * normal_below(x); } }; \
    struct gelu_slope { \
        [[gnu::always_inline]] vec operator()(vec x, vec dy) const { \
            const vec density = broadcast(0.39894228F) * exponential(broadcast(-0.5F) * x * x); \
            return dy * (normal_below(x) + x * density); \
        } \
    }; \
    struct added { [[gnu::always_inline]] vec operator()(vec a, vec b) const { return a + b; } }; \
    inline void relu_forward(const float* x, const float*, float* y, std::ptrdiff_t n) { each(x, y, n, relu_value{}); } \
    inline void relu_backward(const float* y, const float* dy, float* dx, std::ptrdiff_t n) { each(y, dy, dx, n, relu_slope{}); } \
    inline void sigmoid_forward(const float* x, const float*, float* y, std::ptrdiff_t n) { each(x, y, n, sigmoid_value{}); } \
    inline void sigmoid_backward(const float* y, const float* dy, float* dx, std::ptrdiff_t n) { each(y, dy, dx, n, sigmoid_slope{}); } \
    inline void tanh_forward(const float* x, const float*, float* y, std::ptrdiff_t n) { each(x, y, n, tanh_value{}); } \
    inline void tanh_backward(const float* y, const float* dy, float* dx, std::ptrdiff_t n) { each(y, dy, dx, n, tanh_slope{}); } \
    inline void gelu_forward(const float* x, const float*, float* y, std::ptrdiff_t n) { each(x, y, n, gelu_value{}); } \
    inline void gelu_backward(const float* x, const float* dy, float* dx, std::ptrdiff_t n) { each(x, dy, dx, n, gelu_slope{}); } \
    inline void add(const float* x, const float* z, float* y, std::ptrdiff_t n) { each(x, z, y, n, added{}); }
// clang-format on

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512dq,avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512dq,avx2,fma")
#endif
namespace tessera::host::kernels::avx512::by_hand {
BY_HAND
}
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace tessera::host::kernels::avx2::by_hand {
BY_HAND
}
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace {

using by_hand = void (*)(const float*, const float*, float*, std::ptrdiff_t);
using by_expression = void (*)(const float* const*, float*, std::ptrdiff_t) noexcept;

void silu_forward(const float* x, const float*, float* y, std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; ++i) y[i] = x[i] / (1 + std::exp(-x[i]));
}
void silu_backward(const float* x, const float* dy, float* dx, std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; ++i) {
        const float s = 1 / (1 + std::exp(-x[i]));
        dx[i] = dy[i] * (1 + x[i] - x[i] * s) * s;
    }
}
void multiply(const float* x, const float* z, float* y, std::ptrdiff_t n) {
    for (std::ptrdiff_t i = 0; i < n; ++i) y[i] = x[i] * z[i];
}

struct pair {
    const char* name;
    by_hand hand[2]; ///< AVX-512, AVX2
    by_expression expression;
    int first, second; ///< which leaf the arrays are: an input, the result, its gradient
};

// clang-format off
#define BOTH(name) {k::avx512::by_hand::name, k::avx2::by_hand::name}
const pair pairs[] = {
    {"relu forward", BOTH(relu_forward), k::run_formula<ts::op::relu_formula, -1>, 0, 1},
    {"relu backward", BOTH(relu_backward), k::run_formula<ts::op::relu_formula, 0>, 1, 2},
    {"sigmoid forward", BOTH(sigmoid_forward), k::run_formula<ts::op::sigmoid_formula, -1>, 0, 1},
    {"sigmoid backward", BOTH(sigmoid_backward), k::run_formula<ts::op::sigmoid_formula, 0>, 1, 2},
    {"tanh forward", BOTH(tanh_forward), k::run_formula<ts::op::tanh_formula, -1>, 0, 1},
    {"tanh backward", BOTH(tanh_backward), k::run_formula<ts::op::tanh_formula, 0>, 1, 2},
    {"gelu forward", BOTH(gelu_forward), k::run_formula<ts::op::gelu_formula, -1>, 0, 1},
    {"gelu backward", BOTH(gelu_backward), k::run_formula<ts::op::gelu_formula, 0>, 0, 2},
    {"silu forward", {silu_forward, silu_forward}, k::run_formula<ts::op::silu_formula, -1>, 0, 1},
    {"silu backward", {silu_backward, silu_backward}, k::run_formula<ts::op::silu_formula, 0>, 0, 2},
    {"add", BOTH(add), k::run_formula<ts::op::add_formula, -1>, 0, 1},
    {"multiply", {multiply, multiply}, k::run_formula<ts::op::multiply_formula, -1>, 0, 1},
};
#undef BOTH
// clang-format on

/// Two ways to the same numbers: the best time of each, and the median of the first's time over the second's in rounds
/// of both.
template <class First, class Second>
void race_both(const char* name, std::ptrdiff_t count, const char* const (&ways)[2], int work, const First& first,
               const Second& second) {
    constexpr int rounds = 101;
    const int repeats = static_cast<int>(1 + work / count);
    const auto slice = [&](const auto& run) {
        return benchmarks::milliseconds([&] {
            for (int r = 0; r < repeats; ++r) run();
        });
    };
    double best[2] = {1e30, 1e30};
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round) {
        const double first_ms = slice(first), second_ms = slice(second);
        best[0] = std::min(best[0], first_ms);
        best[1] = std::min(best[1], second_ms);
        ratios.push_back(first_ms / second_ms);
    }
    std::sort(ratios.begin(), ratios.end());
    const double numbers = static_cast<double>(count) * repeats * 1e-6;
    std::printf("%-18s %8td numbers: %-7s %6.3f ns, %-10s %6.3f ns each, ratio %5.2f\n", name, count, ways[0],
                best[0] / numbers, ways[1], best[1] / numbers, ratios[rounds / 2]);
    std::fflush(stdout);
}

void race(const pair& p, by_hand hand, std::ptrdiff_t count) {
    std::vector<float> a(ts::to_size(count)), b(a), to(a);
    for (std::size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<float>(i % 1000) * 0.01F - 5;
        b[i] = static_cast<float>(i % 77) * 0.1F - 3;
    }
    const float* from[4] = {};
    from[p.first] = a.data();
    from[p.second] = b.data();
    race_both(
        p.name, count, {"by hand", "expression"}, 1000000, [&] { hand(a.data(), b.data(), to.data(), count); },
        [&] { p.expression(from, to.data(), count); });
}

template <class Apart, class Fused>
void race_fused(const char* name, std::ptrdiff_t count, const Apart& apart, const Fused& fused) {
    race_both(name, count, {"apart", "fused"}, 400000, apart, fused);
}

void race_swiglu(std::ptrdiff_t count) {
    const ts::expression::applied silu{&ts::op::silu_formula, {}, {0}, 2};
    const ts::expression::composition c = ts::expression::compose({&ts::op::multiply_formula, {}, {2, 1}, 3}, &silu, 1);
    ts::fixed_vector<int, ts::expression::most_inputs> result, gradients;
    result.push_back(ts::expression::the_result);
    gradients.push_back(0);
    gradients.push_back(1);
    ts::host::formula_steps forward(c.of, result, {}), backward(c.of, gradients, {});
    using array = std::vector<float>;
    const auto n = ts::to_size(count);
    array a(n), b(n), dy(n), s(n), ds(n), y(n), da(n), db(n);
    for (std::size_t i = 0; i < n; ++i) {
        a[i] = static_cast<float>(i % 1000) * 0.01F - 5;
        b[i] = static_cast<float>(i % 77) * 0.1F - 3;
        dy[i] = static_cast<float>(i % 13) * 0.1F;
    }
    const float* const of_silu[] = {a.data(), s.data(), ds.data()};
    const float* const of_product[] = {s.data(), b.data(), y.data(), dy.data()};
    const float* const of_both[6] = {a.data(), b.data(), nullptr, dy.data()};
    float* const to_both[] = {da.data(), db.data()};
    race_fused(
        "swiglu forward", count,
        [&] {
            k::run_formula<ts::op::silu_formula, -1>(of_silu, s.data(), count);
            k::run_formula<ts::op::multiply_formula, -1>(of_product, y.data(), count);
        },
        [&] { forward.run(of_both, y.data(), count); });
    race_fused(
        "swiglu backward", count,
        [&] {
            k::run_formula<ts::op::multiply_formula, 0>(of_product, ds.data(), count);
            k::run_formula<ts::op::multiply_formula, 1>(of_product, db.data(), count);
            k::run_formula<ts::op::silu_formula, 0>(of_silu, da.data(), count);
        },
        [&] { backward.run(of_both, to_both, count); });
}

} // namespace

int main() {
    const bool is_avx512 = k::active_instruction_set() == k::instruction_set::avx512;
    if (k::active_instruction_set() == k::instruction_set::portable) {
        std::puts("no AVX2: there is nothing to compare");
        return 0;
    }
    for (const std::ptrdiff_t count : {std::ptrdiff_t{4096}, std::ptrdiff_t{100000}})
        for (const pair& p : pairs) race(p, p.hand[is_avx512 ? 0 : 1], count);
    for (const std::ptrdiff_t count : {std::ptrdiff_t{1} << 14, std::ptrdiff_t{1} << 22}) race_swiglu(count);
}
