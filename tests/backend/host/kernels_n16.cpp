// SPDX-License-Identifier: Apache-2.0
// The host kernels against plain double loops, on odd shapes and on every instruction set that this machine has.
#include "support/instruction_sets.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tessera/backend/host/kernels/conv_gradient_n16.hpp"
#include "tessera/backend/host/kernels/conv_n16.hpp"
#include "tessera/backend/host/kernels/limits.hpp"
#include "tessera/backend/host/kernels/linear_n16.hpp"
#include "tessera/backend/host/kernels/loss.hpp"
#include "tessera/backend/host/kernels/optimizer.hpp"
#include "tessera/backend/host/kernels/pool_n16.hpp"
#include "tessera/backend/host/kernels/reduce.hpp"
#include "tessera/backend/host/kernels/transpose_n16.hpp"

namespace {

namespace k = tessera::host::kernels;
using test_support::on_every_instruction_set;
using test_support::scratch_memory;

using floats = std::vector<float>;
using doubles = std::vector<double>;

floats random_floats(std::ptrdiff_t count, unsigned seed, float low = -1, float high = 1) {
    std::mt19937 engine{seed};
    std::uniform_real_distribution<float> draw{low, high};
    floats result(tessera::to_size(count));
    for (float& f : result) f = draw(engine);
    return result;
}

/// The largest |a - b| / (1 + |b|); NaN anywhere counts as infinite.
double difference(const floats& a, const doubles& b) {
    REQUIRE(a.size() == b.size());
    double worst = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double d = std::abs(static_cast<double>(a[i]) - b[i]) / (1 + std::abs(b[i]));
        if (!(d <= worst)) worst = std::isnan(d) ? HUGE_VAL : d;
    }
    return worst;
}

std::size_t input_at(const k::conv_shape& s, int n, int c, int h, int w) {
    return tessera::to_size(((std::ptrdiff_t{n / 16} * s.in_channels + c) * s.in_height + h) * s.in_width + w) * 16 +
           tessera::to_size(n % 16);
}
std::size_t output_at(const k::conv_shape& s, int n, int o, int h, int w) {
    return tessera::to_size(((std::ptrdiff_t{n / 16} * s.out_channels + o) * s.out_height + h) * s.out_width + w) * 16 +
           tessera::to_size(n % 16);
}

/// Calls f(sample, input element, weight, output element) for every product of the convolution.
template <class Function>
void for_each_product(const k::conv_shape& s, Function f) {
    for (int n = 0; n < s.blocks * 16; ++n)
        for (int o = 0; o < s.out_channels; ++o)
            for (int oh = 0; oh < s.out_height; ++oh)
                for (int ow = 0; ow < s.out_width; ++ow)
                    for (int c = 0; c < s.in_channels; ++c)
                        for (int kh = 0; kh < s.kernel_h; ++kh)
                            for (int kw = 0; kw < s.kernel_w; ++kw) {
                                const int h = oh * s.stride_h - s.pad_top + kh * s.dilation_h;
                                const int w = ow * s.stride_w - s.pad_left + kw * s.dilation_w;
                                if (h < 0 || h >= s.in_height || w < 0 || w >= s.in_width) continue;
                                f(input_at(s, n, c, h, w),
                                  tessera::to_size(
                                      ((std::ptrdiff_t{o} * s.in_channels + c) * s.kernel_h + kh) * s.kernel_w + kw),
                                  output_at(s, n, o, oh, ow));
                            }
}

const k::conv_shape conv_shapes[] = {
    {.blocks = 2,
     .in_channels = 1,
     .in_height = 12,
     .in_width = 11,
     .out_channels = 10,
     .out_height = 8,
     .out_width = 7,
     .kernel_h = 5,
     .kernel_w = 5},
    {.blocks = 1,
     .in_channels = 10,
     .in_height = 7,
     .in_width = 9,
     .out_channels = 7,
     .out_height = 3,
     .out_width = 5,
     .kernel_h = 5,
     .kernel_w = 5},
    {.blocks = 2,
     .in_channels = 3,
     .in_height = 6,
     .in_width = 5,
     .out_channels = 6,
     .out_height = 6,
     .out_width = 5,
     .kernel_h = 5,
     .kernel_w = 5,
     .pad_top = 2,
     .pad_left = 2},
    {.blocks = 1,
     .in_channels = 37,
     .in_height = 5,
     .in_width = 6,
     .out_channels = 13,
     .out_height = 5,
     .out_width = 6,
     .kernel_h = 3,
     .kernel_w = 3,
     .pad_top = 1,
     .pad_left = 1},
    {.blocks = 1,
     .in_channels = 5,
     .in_height = 9,
     .in_width = 8,
     .out_channels = 4,
     .out_height = 4,
     .out_width = 3,
     .kernel_h = 3,
     .kernel_w = 4,
     .stride_h = 2,
     .stride_w = 3,
     .pad_top = 0,
     .pad_left = 1},
    {.blocks = 1,
     .in_channels = 2,
     .in_height = 8,
     .in_width = 7,
     .out_channels = 3,
     .out_height = 5,
     .out_width = 4,
     .kernel_h = 1,
     .kernel_w = 1,
     .stride_h = 2,
     .stride_w = 2,
     .pad_top = 1,
     .pad_left = 0},
    {.blocks = 3, .in_channels = 9, .in_height = 3, .in_width = 3, .out_channels = 11, .out_height = 3, .out_width = 3},
    {.blocks = 1,
     .in_channels = 2,
     .in_height = 9,
     .in_width = 10,
     .out_channels = 2,
     .out_height = 6,
     .out_width = 4,
     .kernel_h = 3,
     .kernel_w = 3,
     .stride_w = 2,
     .pad_top = 1,
     .pad_left = 2,
     .dilation_h = 2,
     .dilation_w = 3},
    {.blocks = 1,
     .in_channels = 1,
     .in_height = 1,
     .in_width = 1,
     .out_channels = 1,
     .out_height = 1,
     .out_width = 1,
     .kernel_h = 7,
     .kernel_w = 7,
     .pad_top = 3,
     .pad_left = 3},
    {.blocks = 1,
     .in_channels = 3,
     .in_height = 13,
     .in_width = 13,
     .out_channels = 2,
     .out_height = 3,
     .out_width = 3,
     .kernel_h = 7,
     .kernel_w = 7,
     .stride_h = 3,
     .stride_w = 3},
};

} // namespace

TEST_CASE("conv_n16 forward equals plain loops") {
    for (const k::conv_shape& s : conv_shapes) {
        CAPTURE(&s - conv_shapes);
        const floats x = random_floats(std::ptrdiff_t{s.blocks} * s.in_channels * s.in_height * s.in_width * 16, 1);
        const floats w = random_floats(std::ptrdiff_t{s.out_channels} * s.in_channels * s.kernel_h * s.kernel_w, 2);
        const floats bias = random_floats(s.out_channels, 3);
        const std::ptrdiff_t outputs = std::ptrdiff_t{s.blocks} * s.out_channels * s.out_height * s.out_width * 16;
        doubles plain(tessera::to_size(outputs)), want(tessera::to_size(outputs));
        for_each_product(s,
                         [&](std::size_t i, std::size_t j, std::size_t o) { plain[o] += double{x[i]} * double{w[j]}; });
        for (int n = 0; n < s.blocks * 16; ++n)
            for (int o = 0; o < s.out_channels; ++o)
                for (int h = 0; h < s.out_height; ++h)
                    for (int v = 0; v < s.out_width; ++v)
                        want[output_at(s, n, o, h, v)] =
                            std::fmax(plain[output_at(s, n, o, h, v)] + double{bias[tessera::to_size(o)]}, 0.0);
        on_every_instruction_set([&] {
            scratch_memory scratch{k::conv_forward_scratch(s)};
            floats y(tessera::to_size(outputs), NAN);
            k::conv_forward(x.data(), w.data(), bias.data(), y.data(), s, true, true, scratch.get());
            CHECK(difference(y, want) < 2e-5);
            floats again(tessera::to_size(outputs), NAN);
            k::conv_forward(x.data(), w.data(), bias.data(), again.data(), s, true, false, scratch.get());
            CHECK(again == y);
            k::conv_forward(x.data(), w.data(), nullptr, y.data(), s, false, false, scratch.get());
            CHECK(difference(y, plain) < 2e-5);
            CHECK(scratch.intact());
        });
    }
}

TEST_CASE("conv_n16 gradients equal plain loops") {
    for (const k::conv_shape& s : conv_shapes) {
        CAPTURE(&s - conv_shapes);
        const floats x = random_floats(std::ptrdiff_t{s.blocks} * s.in_channels * s.in_height * s.in_width * 16, 1);
        const floats w = random_floats(std::ptrdiff_t{s.out_channels} * s.in_channels * s.kernel_h * s.kernel_w, 2);
        const floats dy = random_floats(std::ptrdiff_t{s.blocks} * s.out_channels * s.out_height * s.out_width * 16, 3);
        doubles dx(x.size()), dw(w.size()), db(tessera::to_size(s.out_channels));
        for_each_product(s, [&](std::size_t i, std::size_t j, std::size_t o) {
            dx[i] += double{w[j]} * double{dy[o]};
            dw[j] += double{x[i]} * double{dy[o]};
        });
        for (int n = 0; n < s.blocks * 16; ++n)
            for (int o = 0; o < s.out_channels; ++o)
                for (int h = 0; h < s.out_height; ++h)
                    for (int v = 0; v < s.out_width; ++v)
                        db[tessera::to_size(o)] += double{dy[output_at(s, n, o, h, v)]};
        on_every_instruction_set([&] {
            scratch_memory scratch{k::conv_backward_data_scratch(s)};
            floats data(x.size(), NAN), again(x.size(), NAN);
            k::conv_backward_data(dy.data(), w.data(), data.data(), s, true, scratch.get());
            CHECK(difference(data, dx) < 2e-5);
            k::conv_backward_data(dy.data(), w.data(), again.data(), s, false, scratch.get());
            CHECK(again == data);
            CHECK(scratch.intact());

            scratch_memory room{k::conv_backward_weights_scratch(s)};
            floats weights(w.size(), NAN), bias(tessera::to_size(s.out_channels), NAN);
            k::conv_backward_weights(x.data(), dy.data(), weights.data(), bias.data(), s, false, room.get());
            CHECK(difference(weights, dw) < 2e-5);
            CHECK(difference(bias, db) < 2e-5);
            k::conv_backward_weights(x.data(), dy.data(), weights.data(), nullptr, s, true, room.get());
            doubles twice = dw;
            for (double& d : twice) d *= 2;
            CHECK(difference(weights, twice) < 2e-5);
            CHECK(room.intact());
        });
    }
}

TEST_CASE("linear_n16 equals plain loops") {
    const k::linear_shape shapes[] = {{1, 1, 1},    {4, 320, 50}, {5, 50, 10}, {3, 17, 29},
                                      {1, 700, 13}, {2, 5, 3},    {9, 33, 84}, {2, 1100, 2}};
    for (const k::linear_shape& s : shapes) {
        CAPTURE(&s - shapes);
        const floats x = random_floats(std::ptrdiff_t{s.blocks} * s.inputs * 16, 1);
        const floats w = random_floats(std::ptrdiff_t{s.inputs} * s.outputs, 2);
        const floats b = random_floats(s.outputs, 3);
        const floats dy = random_floats(std::ptrdiff_t{s.blocks} * s.outputs * 16, 4);
        doubles y(dy.size()), positive(dy.size()), dx(x.size()), dw(w.size()), db(b.size());
        for (int n = 0; n < s.blocks * 16; ++n)
            for (int o = 0; o < s.outputs; ++o) {
                const std::size_t to = tessera::to_size((n / 16 * s.outputs + o) * 16 + n % 16);
                for (int i = 0; i < s.inputs; ++i) {
                    const std::size_t from = tessera::to_size((n / 16 * s.inputs + i) * 16 + n % 16);
                    const std::size_t at = tessera::to_size(o * s.inputs + i);
                    y[to] += double{w[at]} * double{x[from]};
                    dx[from] += double{w[at]} * double{dy[to]};
                    dw[at] += double{x[from]} * double{dy[to]};
                }
                positive[to] = std::fmax(y[to] + double{b[tessera::to_size(o)]}, 0.0);
                db[tessera::to_size(o)] += double{dy[to]};
            }
        on_every_instruction_set([&] {
            floats out(dy.size(), NAN);
            k::linear_forward(x.data(), w.data(), nullptr, out.data(), s, false);
            CHECK(difference(out, y) < 2e-5);
            k::linear_forward(x.data(), w.data(), b.data(), out.data(), s, true);
            CHECK(difference(out, positive) < 2e-5);
            floats data(x.size(), NAN);
            k::linear_backward_data(dy.data(), w.data(), data.data(), s);
            CHECK(difference(data, dx) < 2e-5);
            scratch_memory scratch{k::linear_backward_weights_scratch(s)};
            floats weights(w.size(), NAN), bias(b.size(), NAN);
            k::linear_backward_weights(x.data(), dy.data(), weights.data(), bias.data(), s, false, scratch.get());
            CHECK(difference(weights, dw) < 2e-5);
            CHECK(difference(bias, db) < 2e-5);
            k::linear_backward_weights(x.data(), dy.data(), weights.data(), bias.data(), s, true, scratch.get());
            for (floats* f : {&weights, &bias})
                for (float& v : *f) v /= 2;
            CHECK(difference(weights, dw) < 2e-5);
            CHECK(difference(bias, db) < 2e-5);
            CHECK(scratch.intact());
        });
    }
}

TEST_CASE("pool_n16 equals plain loops") {
    const k::pool_shape shapes[] = {
        {.planes = 3,
         .in_height = 8,
         .in_width = 6,
         .out_height = 4,
         .out_width = 3,
         .window_h = 2,
         .window_w = 2,
         .stride_h = 2,
         .stride_w = 2},
        {.planes = 2,
         .in_height = 7,
         .in_width = 9,
         .out_height = 3,
         .out_width = 4,
         .window_h = 2,
         .window_w = 2,
         .stride_h = 2,
         .stride_w = 2},
        {.planes = 2,
         .in_height = 7,
         .in_width = 8,
         .out_height = 4,
         .out_width = 5,
         .window_h = 3,
         .window_w = 3,
         .stride_h = 2,
         .stride_w = 2,
         .pad_top = 1,
         .pad_left = 1},
        {.planes = 1,
         .in_height = 5,
         .in_width = 5,
         .out_height = 4,
         .out_width = 2,
         .window_h = 2,
         .window_w = 4,
         .stride_h = 1,
         .stride_w = 1},
        {.planes = 5, .in_height = 4, .in_width = 3, .out_height = 1, .out_width = 1, .window_h = 4, .window_w = 3},
        {.planes = 2,
         .in_depth = 5,
         .out_depth = 3,
         .window_d = 3,
         .stride_d = 2,
         .pad_front = 1,
         .in_height = 4,
         .in_width = 6,
         .out_height = 2,
         .out_width = 3,
         .window_h = 2,
         .window_w = 2,
         .stride_h = 2,
         .stride_w = 2},
        {.planes = 1,
         .in_depth = 4,
         .out_depth = 2,
         .window_d = 2,
         .stride_d = 2,
         .in_height = 5,
         .in_width = 4,
         .out_height = 3,
         .out_width = 4,
         .window_h = 3,
         .window_w = 1},
    };
    for (const k::pool_shape& s : shapes) {
        CAPTURE(&s - shapes);
        const std::size_t ins = tessera::to_size(s.planes * s.in_depth * s.in_height * s.in_width * 16),
                          outs = tessera::to_size(s.planes * s.out_depth * s.out_height * s.out_width * 16);
        floats x = random_floats(static_cast<std::ptrdiff_t>(ins), 1);
        for (float& f : x) f = std::round(f * 4) / 4; // ties
        const floats dy = random_floats(static_cast<std::ptrdiff_t>(outs), 2);
        for (const bool whole : {false, true}) {
            doubles largest(outs), clipped(outs), mean(outs), from_largest(ins), from_mean(ins);
            std::vector<std::uint8_t> winners(outs);
            for (int o = 0; o < static_cast<int>(outs); ++o) {
                const int lane = o % 16, w = o / 16 % s.out_width, h = o / 16 / s.out_width % s.out_height;
                const int d = o / 16 / s.out_width / s.out_height % s.out_depth;
                const int p = o / 16 / s.out_width / s.out_height / s.out_depth;
                std::size_t best = ins;
                std::vector<std::size_t> inside;
                for (int n = 0; n < s.window_d * s.window_h * s.window_w; ++n) {
                    const int q = d * s.stride_d - s.pad_front + n / s.window_w / s.window_h;
                    const int r = h * s.stride_h - s.pad_top + n / s.window_w % s.window_h;
                    const int c = w * s.stride_w - s.pad_left + n % s.window_w;
                    if (q < 0 || q >= s.in_depth || r < 0 || r >= s.in_height || c < 0 || c >= s.in_width) continue;
                    const std::size_t at =
                        tessera::to_size((((p * s.in_depth + q) * s.in_height + r) * s.in_width + c) * 16 + lane);
                    inside.push_back(at);
                    mean[tessera::to_size(o)] += double{x[at]};
                    if (best != ins && x[at] <= x[best]) continue;
                    best = at;
                    winners[tessera::to_size(o)] = static_cast<std::uint8_t>(n);
                }
                const double count = whole ? s.window_d * s.window_h * s.window_w : static_cast<double>(inside.size());
                mean[tessera::to_size(o)] /= count;
                for (const std::size_t at : inside) from_mean[at] += double{dy[tessera::to_size(o)]} / count;
                from_largest[best] += double{dy[tessera::to_size(o)]};
                largest[tessera::to_size(o)] = double{x[best]};
                clipped[tessera::to_size(o)] = std::fmax(largest[tessera::to_size(o)], 0.0);
            }
            on_every_instruction_set([&] {
                floats y(outs, NAN), dx(ins, NAN);
                std::vector<std::uint8_t> index(outs, 255);
                k::max_pool_forward(x.data(), y.data(), index.data(), s, false);
                CHECK(difference(y, largest) == 0);
                CHECK(index == winners);
                k::max_pool_backward(dy.data(), index.data(), dx.data(), s);
                CHECK(difference(dx, from_largest) < 1e-6);
                k::max_pool_forward(x.data(), y.data(), nullptr, s, true);
                CHECK(difference(y, clipped) == 0);
                k::average_pool_forward(x.data(), y.data(), s, whole);
                CHECK(difference(y, mean) < 1e-6);
                dx.assign(ins, NAN);
                k::average_pool_backward(dy.data(), dx.data(), s, whole);
                CHECK(difference(dx, from_mean) < 1e-6);
            });
        }
    }
}

TEST_CASE("transposes move every element") {
    for (const std::ptrdiff_t samples : {1, 15, 16, 37})
        for (const std::ptrdiff_t length : {1, 7, 16, 50, 784}) {
            CAPTURE(samples);
            CAPTURE(length);
            const std::ptrdiff_t blocks = (samples + 15) / 16, step = length + 3;
            const floats plain = random_floats(samples * step, 1);
            floats want(tessera::to_size(blocks * length * 16));
            for (std::ptrdiff_t n = 0; n < samples; ++n)
                for (std::ptrdiff_t i = 0; i < length; ++i)
                    want[tessera::to_size((n / 16 * length + i) * 16 + n % 16)] = plain[tessera::to_size(n * step + i)];
            on_every_instruction_set([&] {
                floats blocked(want.size(), NAN);
                k::to_blocked(plain.data(), blocked.data(), samples, length, step);
                CHECK(blocked == want);
                floats back = plain;
                for (std::ptrdiff_t n = 0; n < samples; ++n)
                    for (std::ptrdiff_t i = 0; i < length; ++i) back[tessera::to_size(n * step + i)] = 9;
                k::to_plain(blocked.data(), back.data(), samples, length, step);
                CHECK(back == plain);
            });
        }
}

TEST_CASE("sums of arrays keep their order and reach every destination") {
    for (const std::ptrdiff_t count : {1, 15, 64, 1003})
        for (const int sources : {1, 2, 5}) {
            std::vector<floats> arrays;
            std::vector<const float*> from;
            for (int i = 0; i < sources; ++i) arrays.push_back(random_floats(count, static_cast<unsigned>(i)));
            for (const floats& a : arrays) from.push_back(a.data());
            floats want = arrays[0];
            double squares = 0;
            for (std::size_t i = 0; i < want.size(); ++i) {
                for (int j = 1; j < sources; ++j) want[i] += arrays[tessera::to_size(j)][i];
                squares += double{arrays[0][i]} * double{arrays[0][i]};
            }
            on_every_instruction_set([&] {
                floats a(want.size(), NAN), b(want.size(), NAN);
                float* to[] = {a.data(), b.data()};
                k::sum_arrays(from.data(), sources, to, 2, count);
                CHECK(a == want);
                CHECK(b == want);
                CHECK(k::sum_of_squares(arrays[0].data(), count) == doctest::Approx(squares).epsilon(1e-12));
            });
        }
}

TEST_CASE("optimizers follow their definition over several steps") {
    constexpr std::ptrdiff_t count = 37;
    const floats start = random_floats(count, 1), g0 = random_floats(count, 2), g1 = random_floats(count, 3);
    const float* gradients[] = {g0.data(), g1.data()};
    const auto numbers = [](double rate, double momentum, double decay) {
        return k::formulas::numbers_of<float>({momentum, decay, 0.9, 0.999, 1e-8, 1, 0, 0, 1, 0, 0, false, false}, rate,
                                              1, 1);
    };
    for (const bool nesterov : {false, true}) {
        doubles w{start.begin(), start.end()}, v(tessera::to_size(count));
        on_every_instruction_set([&] {
            w.assign(start.begin(), start.end());
            floats weights = start, copy(start.size()), velocity(start.size());
            float* to[] = {weights.data(), copy.data()};
            const auto which = nesterov ? k::update_formula::nesterov : k::update_formula::momentum;
            v.assign(v.size(), 0);
            for (int step = 0; step < 3; ++step) {
                CHECK(k::update(which, {weights.data(), gradients, 2, velocity.data(), to, 2, count, count},
                                {numbers(0.1, 0.9, 0.01), 0.5F}));
                for (std::size_t i = 0; i < w.size(); ++i) {
                    const double g = (double{g0[i]} + double{g1[i]}) * 0.5 + 0.01 * w[i];
                    v[i] = 0.9 * v[i] + g;
                    w[i] -= 0.1 * (nesterov ? g + 0.9 * v[i] : v[i]);
                }
                CHECK(difference(weights, w) < 1e-6);
                CHECK(copy == weights);
                CHECK(difference(velocity, v) < 1e-6);
            }
        });
    }
    on_every_instruction_set([&] {
        doubles w{start.begin(), start.end()}, m(tessera::to_size(count)), v(tessera::to_size(count));
        floats weights = start, states(2 * start.size());
        float* to[] = {weights.data()};
        for (int step = 1; step <= 4; ++step) {
            const auto n = k::formulas::numbers_of<float>({0, 0.02, 0.9, 0.999, 1e-8, 1, 0, 0, 1, 0, 0, false, false},
                                                          0.01, 1 - std::pow(0.9, step), 1 - std::pow(0.999, step));
            CHECK(k::update(k::update_formula::adam, {weights.data(), gradients, 2, states.data(), to, 1, count, count},
                            {n}));
            for (std::size_t i = 0; i < w.size(); ++i) {
                const double g = double{g0[i]} + double{g1[i]} + 0.02 * w[i];
                m[i] = 0.9 * m[i] + 0.1 * g;
                v[i] = 0.999 * v[i] + 0.001 * g * g;
                w[i] -=
                    0.01 * (m[i] / (1 - std::pow(0.9, step))) / (std::sqrt(v[i] / (1 - std::pow(0.999, step))) + 1e-8);
            }
            CHECK(difference(weights, w) < 2e-5);
        }
    });
}

TEST_CASE("optimizers leave out the elements that would not be finite, and say so") {
    const float huge = 3e38F;
    for (const std::ptrdiff_t count : {1, 15, 37})
        for (const float bad : {NAN, HUGE_VALF, -HUGE_VALF, huge}) {
            const std::size_t at = tessera::to_size(count) / 2;
            const floats start = random_floats(count, 1), good = random_floats(count, 2);
            floats spoiled = good;
            spoiled[at] = bad;
            on_every_instruction_set([&] {
                const auto run = [&](const floats& gradient, k::update_formula which, bool finite) {
                    floats weights = start, states(3 * tessera::to_size(count), 0.1F);
                    const float* gradients[] = {gradient.data()};
                    float* to[] = {weights.data()};
                    const auto n = k::formulas::numbers_of<float>(
                        {0.5, 0, 0.9, 0.999, 1e-8, 1, 0, 0, 1, 0, 0, false, false}, 10, 0.1, 0.001);
                    CHECK(k::update(which, {weights.data(), gradients, 1, states.data(), to, 1, count, count}, {n}) ==
                          finite);
                    return std::pair{weights, states};
                };
                for (const auto which : {k::update_formula::adam, k::update_formula::momentum,
                                         k::update_formula::rmsprop_centered_momentum}) {
                    auto expected = run(good, which, true);
                    expected.first[at] = start[at];
                    expected.second[at] = expected.second[tessera::to_size(count) + at] =
                        expected.second[2 * tessera::to_size(count) + at] = 0.1F;
                    CHECK(run(spoiled, which, false) == expected);
                }
            });
        }
}

TEST_CASE("squares of weights, gradients and LAMB's updates are those of plain loops; LARS' ratio scales its step") {
    for (const std::ptrdiff_t count : {1, 16, 37}) {
        const floats start = random_floats(count, 1), g0 = random_floats(count, 2), g1 = random_floats(count, 3);
        floats states = random_floats(2 * count, 4);
        for (float& x : states) x = std::abs(x);
        const float* gradients[] = {g0.data(), g1.data()};
        auto n = k::formulas::numbers_of<float>({0.9, 0.02, 0.9, 0.99, 1e-3, 1, 0.3, 0, 1, 0, 0, true, false}, 0.01,
                                                0.19, 0.0199);
        double weights = 0, gradient = 0, update = 0;
        for (std::size_t i = 0; i < tessera::to_size(count); ++i) {
            const double w = start[i], g = std::fmin(std::fmax((double{g0[i]} + double{g1[i]}) * 0.5, -0.3), 0.3);
            const double m = (0.9 * double{states[i]} + 0.1 * g) / 0.19;
            const double v = (0.99 * double{states[tessera::to_size(count) + i]} + 0.01 * g * g) / 0.0199;
            const double u = m / (std::sqrt(v) + 1e-3) + 0.02 * w;
            weights += w * w;
            gradient += g * g;
            update += u * u;
        }
        on_every_instruction_set([&] {
            const k::update_arrays a{start.data(), gradients, 2, states.data(), nullptr, 0, count, count};
            const k::update_squares lars = k::squares_of(k::update_formula::lars_momentum, a, {n, 0.5F});
            const k::update_squares lamb = k::squares_of(k::update_formula::adamw, a, {n, 0.5F});
            CHECK(lars.weights == doctest::Approx(weights).epsilon(1e-6));
            CHECK(lamb.weights == lars.weights);
            CHECK(lars.measured == doctest::Approx(gradient).epsilon(1e-5));
            CHECK(lamb.measured == doctest::Approx(update).epsilon(1e-5));
            auto scaled =
                k::formulas::numbers_of<float>({0.9, 0.02, 0, 0, 1, 1, 0, 0, 1, 0, 0, false, false}, 0.1, 1, 1);
            scaled.trust = 0.25F;
            floats moved = start, velocity(start.size());
            float* to[] = {moved.data()};
            CHECK(k::update(k::update_formula::lars_momentum,
                            {moved.data(), gradients, 2, velocity.data(), to, 1, count, count}, {scaled, 0.5F}));
            for (std::size_t i = 0; i < tessera::to_size(count); ++i) {
                const double v = 0.25 * ((double{g0[i]} + double{g1[i]}) * 0.5 + 0.02 * double{start[i]});
                CHECK(double{velocity[i]} == doctest::Approx(v).epsilon(1e-5));
                CHECK(double{moved[i]} == doctest::Approx(double{start[i]} - 0.1 * v).epsilon(1e-5));
            }
        });
    }
}

TEST_CASE("cross entropy equals plain loops in both formats") {
    for (const int rows : {1, 16, 21})
        for (const int classes : {2, 10, 37}) {
            floats logits = random_floats(std::ptrdiff_t{rows} * classes, 1, -5, 5);
            for (int c = 0; c < classes; ++c) logits[tessera::to_size(c)] *= 30; // far apart
            std::vector<std::int32_t> labels;
            for (int r = 0; r < rows; ++r) labels.push_back(r * 7 % classes);
            doubles losses, gradient;
            for (int r = 0; r < rows; ++r) {
                const float* row = logits.data() + r * classes;
                double total = 0, most = -HUGE_VAL;
                for (int c = 0; c < classes; ++c) most = std::fmax(most, double{row[c]});
                for (int c = 0; c < classes; ++c) total += std::exp(double{row[c]} - most);
                losses.push_back(std::log(total) + most - double{row[labels[tessera::to_size(r)]]});
                for (int c = 0; c < classes; ++c)
                    gradient.push_back(
                        0.25 * (std::exp(double{row[c]} - most) / total - (c == labels[tessera::to_size(r)] ? 1 : 0)));
            }
            on_every_instruction_set([&] {
                floats loss(tessera::to_size(rows), NAN), slope(logits.size(), NAN);
                k::cross_entropy_rows(logits.data(), labels.data(), loss.data(), slope.data(), rows, classes, 0.25F);
                CHECK(difference(loss, losses) < 1e-6);
                CHECK(difference(slope, gradient) < 1e-6);
                floats in_place = logits;
                k::cross_entropy_rows(in_place.data(), labels.data(), loss.data(), in_place.data(), rows, classes,
                                      0.25F);
                CHECK(in_place == slope);

                const std::size_t blocked_size = tessera::to_size((rows + 15) / 16 * classes * 16);
                floats blocked(blocked_size), blocked_slope(blocked_size, NAN), back(logits.size());
                k::to_blocked(logits.data(), blocked.data(), rows, classes, classes);
                loss.assign(tessera::to_size(rows), NAN);
                k::cross_entropy_blocked(blocked.data(), labels.data(), loss.data(), blocked_slope.data(), rows,
                                         classes, 0.25F);
                CHECK(difference(loss, losses) < 1e-6);
                k::to_plain(blocked_slope.data(), back.data(), rows, classes, classes);
                CHECK(difference(back, gradient) < 1e-6);
                for (int c = 0; c < classes; ++c)
                    for (int n = rows % 16; n != 0 && n < 16; ++n)
                        CHECK(blocked_slope[tessera::to_size((rows / 16 * classes + c) * 16 + n)] == 0);
            });
        }
}

TEST_CASE("each kernel says what is too large for it") {
    const auto conv = [](int rows, int columns) {
        return k::conv_shape{.blocks = 1,
                             .in_channels = 1,
                             .in_height = rows,
                             .in_width = columns,
                             .out_channels = 1,
                             .out_height = 1,
                             .out_width = 1,
                             .kernel_h = rows,
                             .kernel_w = columns};
    };
    CHECK(k::fits(conv(1, 256)));
    CHECK(!k::fits(conv(1, 257)));
    CHECK(k::fits(conv(256, 1)));
    CHECK(!k::fits(conv(257, 1)));
    CHECK(k::fits(conv(32, 256)));
    CHECK(!k::fits(conv(33, 256)));
    CHECK(k::fits(conv(90, 91)));
    CHECK(!k::fits(conv(91, 91)));
    // Places in a plane of all channels are ints: 32 x 2000 x 2000 x 16 floats are fewer than 2^31, 34 x 2000 x 2000 x
    // 16 more.
    k::conv_shape large{.blocks = 1,
                        .in_channels = 32,
                        .in_height = 2000,
                        .in_width = 2000,
                        .out_channels = 1,
                        .out_height = 2000,
                        .out_width = 2000};
    CHECK(k::fits(large));
    large.in_channels = 34;
    CHECK(!k::fits(large));
    std::swap(large.in_channels, large.out_channels);
    CHECK(!k::fits(large));
    large.out_channels = 1;
    large.blocks = 1 << 21;
    CHECK(!k::fits(large));
    large.blocks = 1;
    large.stride_w = 1 << 25;
    CHECK(!k::fits(large));
    const auto pool = [](int rows, int columns) {
        return k::pool_shape{.planes = 1,
                             .in_height = rows,
                             .in_width = columns,
                             .out_height = 1,
                             .out_width = 1,
                             .window_h = rows,
                             .window_w = columns};
    };
    CHECK(k::fits(pool(16, 16)));
    CHECK(!k::fits(pool(1, 257)));
    CHECK(!k::fits(pool(65536, 65536)));
    CHECK(k::fits(k::linear_shape{1, 100'000'000, 1}));
    CHECK(!k::fits(k::linear_shape{1, 1 << 27, 1}));
    CHECK(!k::fits(k::linear_shape{1, 1, 1 << 27}));
    CHECK(!k::fits(k::linear_shape{1 << 27, 1, 1}));
}
