// SPDX-License-Identifier: Apache-2.0
// The reference kernels against formulas that are written out here without any description.
#include "op/harness.hpp"
#include "support/known_operators.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace {

using namespace tests;

/// Reads x[n,c,h,w], or `outside` beyond its rows and columns.
double image_at(const tile& x, ts::index_t n, ts::index_t c, ts::index_t h, ts::index_t w, double outside) {
    const ts::shape e = x.region.extents();
    if (h < 0 || w < 0 || h >= e[2] || w >= e[3]) {
        return outside;
    }
    return x.numbers[ts::to_size(((n * e[1] + c) * e[2] + h) * e[3] + w)];
}

using formula = std::function<double(ts::index_t, ts::index_t, ts::index_t, ts::index_t)>;

/// Compares an output [N,C,H,W] (or [N,C], with h = w = 0) with a formula of its index.
void check_output(const op_instance& op, const formula& expected) {
    const tile& y = op.value[ts::to_size(op.d.output())];
    const ts::shape e = y.region.extents();
    const ts::index_t rows = e.rank > 2 ? e[2] : 1;
    const ts::index_t columns = e.rank > 3 ? e[3] : 1;
    std::size_t i = 0;
    for (ts::index_t n = 0; n < e[0]; ++n) {
        for (ts::index_t c = 0; c < e[1]; ++c) {
            for (ts::index_t h = 0; h < rows; ++h) {
                for (ts::index_t w = 0; w < columns; ++w) {
                    CHECK(y.numbers[i++] == doctest::Approx(expected(n, c, h, w)).epsilon(1e-12));
                }
            }
        }
    }
    REQUIRE(i == y.numbers.size());
}

void check_convolution(const op_instance& op) {
    const auto a = op.row.attributes.as<ts::op::conv2d_attributes>();
    const ts::index_t in = op.row.inputs[0][1] / a.groups;
    const ts::index_t out = a.out / a.groups;
    check_output(op, [&](ts::index_t n, ts::index_t o, ts::index_t h, ts::index_t w) {
        double sum = a.bias ? op.value[2].numbers[ts::to_size(o)] : 0.0;
        for (ts::index_t i = 0; i < in; ++i) {
            for (ts::index_t r = 0; r < a.window[0]; ++r) {
                for (ts::index_t s = 0; s < a.window[1]; ++s) {
                    const ts::index_t weight = ((o * in + i) * a.window[0] + r) * a.window[1] + s;
                    sum +=
                        op.value[1].numbers[ts::to_size(weight)] *
                        image_at(op.value[0], n, o / out * in + i, h * a.stride[0] + r * a.dilation[0] - a.padding[0],
                                 w * a.stride[1] + s * a.dilation[1] - a.padding[1], 0);
                }
            }
        }
        return sum;
    });
}

void check_pool(const op_instance& op) {
    const auto a = op.row.attributes.as<ts::op::average_pool_attributes>();
    const bool is_max = op.row.attributes.kind == ts::op_kind::max_pool;
    check_output(op, [&](ts::index_t n, ts::index_t c, ts::index_t h, ts::index_t w) {
        double result = is_max ? -1e300 : 0.0;
        double count = 0;
        for (ts::index_t r = 0; r < a.window[0]; ++r) {
            for (ts::index_t s = 0; s < a.window[1]; ++s) {
                const double x = image_at(op.value[0], n, c, h * a.stride[0] + r - a.padding[0],
                                          w * a.stride[1] + s - a.padding[1], -1e300);
                if (x > -1e299) {
                    result = is_max ? std::max(result, x) : result + x;
                    ++count;
                }
            }
        }
        count = a.count_padding ? static_cast<double>(a.window[0] * a.window[1]) : count;
        return is_max ? result : result / count;
    });
}

/// Every input meets every place of its window.
void check_transposed(const op_instance& op) {
    const auto a = op.row.attributes.as<ts::op::conv2d_attributes>();
    const ts::shape& x = op.row.inputs[0];
    check_output(op, [&](ts::index_t n, ts::index_t o, ts::index_t row, ts::index_t column) {
        double sum = a.bias ? op.value[2].numbers[ts::to_size(o)] : 0.0;
        for (ts::index_t i = 0; i < x[1]; ++i) {
            for (ts::index_t h = 0; h < x[2]; ++h) {
                for (ts::index_t v = 0; v < x[3]; ++v) {
                    const ts::index_t r = row + a.padding[0] - h * a.stride[0];
                    const ts::index_t s = column + a.padding[1] - v * a.stride[1];
                    if (r >= 0 && r < a.window[0] && s >= 0 && s < a.window[1]) {
                        const ts::index_t weight = ((i * a.out + o) * a.window[0] + r) * a.window[1] + s;
                        sum += op.value[1].numbers[ts::to_size(weight)] * image_at(op.value[0], n, i, h, v, 0);
                    }
                }
            }
        }
        return sum;
    });
}

/// Tokens choose in turns and take the next slot: who gets none is dropped.
void check_route(const op_instance& op) {
    const auto a = op.row.attributes.as<ts::op::route_attributes>();
    const ts::shape& x = op.row.inputs[0];
    const std::vector<double>& gates = op.value[0].numbers;
    std::vector<double> expected(op.value[1].numbers.size(), 0.0);
    int dropped = 0;
    for (ts::index_t n = 0; n < x[0]; ++n) {
        std::vector<ts::index_t> taken(ts::to_size(x[2]), 0);
        for (ts::index_t choice = 0; choice < a.top; ++choice) {
            for (ts::index_t t = 0; t < x[1]; ++t) {
                const auto gate = [&](ts::index_t e) { return gates[ts::to_size((n * x[1] + t) * x[2] + e)]; };
                std::vector<ts::index_t> order(ts::to_size(x[2]));
                std::iota(order.begin(), order.end(), 0);
                std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return gate(i) > gate(j); });
                const ts::index_t e = order[ts::to_size(choice)];
                const ts::index_t slot = taken[ts::to_size(e)]++;
                if (slot < a.slots) {
                    expected[ts::to_size((n * x[1] + t) * x[2] * a.slots + e * a.slots + slot)] =
                        a.weighted ? gate(e) : 1.0;
                } else {
                    ++dropped;
                }
            }
        }
    }
    CHECK(op.value[1].numbers == expected);
    if (a.top * x[1] > x[2] * a.slots) {
        CHECK(dropped > 0); // there are more choices than slots
    }
}

} // namespace

TEST_CASE("convolutions, products, pools and routes follow their formulas") {
    for (const op_case& c : op_table()) {
        op_instance op(c);
        op.forward();
        CAPTURE(c.name);
        switch (test_support::known(c.attributes.kind)) {
        case test_support::known_op::conv2d:
            check_convolution(op);
            break;
        case test_support::known_op::transposed_conv2d:
            check_transposed(op);
            break;
        case test_support::known_op::route:
            check_route(op);
            break;
        case test_support::known_op::expert_linear:
            check_output(op, [&](ts::index_t n, ts::index_t row, ts::index_t o, ts::index_t) {
                const ts::shape& x = c.inputs[0];
                const auto a = c.attributes.as<ts::op::expert_linear_attributes>();
                const ts::index_t e = row / (x[1] / a.groups);
                double sum = 0;
                for (ts::index_t i = 0; i < x[2]; ++i) {
                    sum += op.value[0].numbers[ts::to_size((n * x[1] + row) * x[2] + i)] *
                           op.value[1].numbers[ts::to_size((e * a.out + o) * x[2] + i)];
                }
                return sum;
            });
            break;
        case test_support::known_op::max_pool:
        case test_support::known_op::average_pool:
            check_pool(op);
            break;
        case test_support::known_op::linear:
            check_output(op, [&](ts::index_t n, ts::index_t second, ts::index_t third, ts::index_t) {
                const ts::shape& x = c.inputs[0];
                const ts::index_t inputs = x[x.rank - 1];
                const ts::index_t o = x.rank == 3 ? third : second;
                n = x.rank == 3 ? n * x[1] + second : n;
                double sum =
                    c.attributes.as<ts::op::linear_attributes>().bias ? op.value[2].numbers[ts::to_size(o)] : 0.0;
                for (ts::index_t i = 0; i < inputs; ++i) {
                    sum += op.value[0].numbers[ts::to_size(n * inputs + i)] *
                           op.value[1].numbers[ts::to_size(o * inputs + i)];
                }
                return sum;
            });
            break;
        case test_support::known_op::global_average_pool:
            check_output(op, [&](ts::index_t n, ts::index_t k, ts::index_t, ts::index_t) {
                const ts::shape& x = c.inputs[0]; // of images or of volumes
                const auto plane = x.volume() / (x[0] * x[1]);
                const auto first = op.value[0].numbers.begin() + static_cast<std::ptrdiff_t>((n * x[1] + k) * plane);
                return std::accumulate(first, first + static_cast<std::ptrdiff_t>(plane), 0.0) /
                       static_cast<double>(plane);
            });
            break;
        default:
            break;
        }
    }
}

namespace {

/// What element `i` of the output reads of an input: NumPy's broadcasting, behind the samples.
double of_input(const op_case& c, const op_instance& op, int slot, std::size_t i) {
    const ts::shape& own = c.inputs[ts::to_size(slot)];
    const ts::shape y = c.infer().output;
    ts::index_t coordinates[ts::max_rank] = {};
    for (int d = y.rank - 1; d >= 0; --d) {
        coordinates[d] = static_cast<ts::index_t>(i) % y[d];
        i /= ts::to_size(y[d]);
    }
    ts::index_t place = 0;
    for (int k = 0; k < own.rank; ++k) {
        const int d = k == 0 ? 0 : y.rank - own.rank + k;
        place = place * own[k] + (own[k] == 1 ? 0 : coordinates[d]);
    }
    return op.value[ts::to_size(slot)].numbers[ts::to_size(place)];
}

} // namespace

TEST_CASE("operators on single elements follow their formulas") {
    for (const op_case& c : op_table()) {
        op_instance op(c);
        op.forward();
        const std::vector<double>& x = op.value[0].numbers;
        const std::vector<double>& y = op.value[ts::to_size(op.d.output())].numbers;
        CAPTURE(c.name);
        for (std::size_t i = 0; i < y.size(); ++i) {
            double expected = 0;
            switch (test_support::known(c.attributes.kind)) {
            case test_support::known_op::relu:
                expected = std::max(x[i], 0.0);
                break;
            case test_support::known_op::sigmoid:
                expected = 1 / (1 + std::exp(-x[i]));
                break;
            case test_support::known_op::tanh:
                expected = (std::exp(2 * x[i]) - 1) / (std::exp(2 * x[i]) + 1);
                break;
            case test_support::known_op::gelu:
                expected = x[i] * (1 + std::erf(x[i] / std::sqrt(2.0))) / 2;
                break;
            case test_support::known_op::leaky_relu:
                expected = x[i] > 0 ? x[i] : 0.2 * x[i];
                break;
            case test_support::known_op::elu:
                expected = x[i] > 0 ? x[i] : 1.5 * std::expm1(x[i]);
                break;
            case test_support::known_op::hard_sigmoid:
                expected = std::clamp((x[i] + 3) / 6, 0.0, 1.0);
                break;
            case test_support::known_op::hard_swish:
                expected = x[i] * std::clamp((x[i] + 3) / 6, 0.0, 1.0);
                break;
            case test_support::known_op::softplus:
                expected = std::log(1 + std::exp(x[i]));
                break;
            case test_support::known_op::exp:
                expected = std::exp(x[i]);
                break;
            case test_support::known_op::log:
                expected = std::log(x[i]);
                break;
            case test_support::known_op::sqrt:
                expected = std::sqrt(x[i]);
                break;
            case test_support::known_op::power:
                expected = std::pow(x[i], c.attributes.as<ts::op::expression_attributes>().number[0]);
                break;
            case test_support::known_op::abs:
                expected = std::abs(x[i]);
                break;
            case test_support::known_op::clamp:
                expected = std::clamp(x[i], -0.02, 0.03);
                break;
            case test_support::known_op::negate:
                expected = -x[i];
                break;
            case test_support::known_op::scale:
                expected = -0.3 * x[i];
                break;
            case test_support::known_op::add_constant:
                expected = x[i] + 0.7;
                break;
            case test_support::known_op::stop_gradient:
                expected = x[i];
                break;
            case test_support::known_op::straight_through_round:
                expected = std::nearbyint(x[i]);
                break;
            case test_support::known_op::subtract:
                expected = of_input(c, op, 0, i) - of_input(c, op, 1, i);
                break;
            case test_support::known_op::divide:
                expected = of_input(c, op, 0, i) / of_input(c, op, 1, i);
                break;
            case test_support::known_op::minimum:
                expected = std::min(of_input(c, op, 0, i), of_input(c, op, 1, i));
                break;
            case test_support::known_op::maximum:
                expected = std::max(of_input(c, op, 0, i), of_input(c, op, 1, i));
                break;
            case test_support::known_op::add:
                expected = of_input(c, op, 0, i) + of_input(c, op, 1, i);
                break;
            case test_support::known_op::multiply:
                expected = of_input(c, op, 0, i) * of_input(c, op, 1, i);
                break;
            case test_support::known_op::silu_gate:
                expected = of_input(c, op, 0, i) / (1 + std::exp(-of_input(c, op, 0, i))) * of_input(c, op, 1, i);
                break;
            case test_support::known_op::gelu_gate:
                expected = of_input(c, op, 0, i) * (1 + std::erf(of_input(c, op, 0, i) / std::sqrt(2.0))) / 2 *
                           of_input(c, op, 1, i);
                break;
            case test_support::known_op::relu_gate:
                expected = std::max(of_input(c, op, 0, i), 0.0) * of_input(c, op, 1, i);
                break;
            case test_support::known_op::flatten:
                expected = x[i];
                break;
            default:
                continue; // another test's
            }
            CHECK(y[i] == doctest::Approx(expected).epsilon(1e-12));
        }
    }
}

TEST_CASE("concatenation puts the channels of its inputs one after the other") {
    const op_case row{
        "concat", {.kind = ts::op_kind::concat}, {ts::make_shape(2, 1, 1, 2), ts::make_shape(2, 2, 1, 2)}};
    op_instance op(row);
    op.value[0].numbers = {1, 2, 3, 4};
    op.value[1].numbers = {10, 11, 12, 13, 14, 15, 16, 17};
    op.forward();
    CHECK(op.value[2].numbers == std::vector<double>{1, 2, 10, 11, 12, 13, 3, 4, 14, 15, 16, 17});
}

TEST_CASE("dropout keeps about what it should, scaled, drops the rest, and is another one in another step") {
    for (const ts::op_kind kind : {ts::op_kind::dropout, ts::op_kind::channel_dropout, ts::op_kind::stochastic_depth}) {
        const op_case row{"dropout",
                          ts::attributes_of(kind, ts::op::dropout_attributes{.percent = 20}),
                          {ts::make_shape(50, 40, 2, 3)}};
        op_instance op(row);
        std::fill(op.value[0].numbers.begin(), op.value[0].numbers.end(), 1.0);
        op.forward();
        const std::vector<double> y = op.value[1].numbers;
        const std::size_t together = kind == ts::op_kind::dropout           ? 1
                                     : kind == ts::op_kind::channel_dropout ? 6
                                                                            : 240; // elements that share a decision
        double kept = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            CHECK((y[i] == 0 || y[i] == 1.25));
            CHECK(y[i] == y[i / together * together]);
            kept += y[i] > 0 ? 1 : 0;
        }
        const double decisions = static_cast<double>(y.size() / together);
        CHECK(std::abs(kept / static_cast<double>(y.size()) - 0.8) < 5 * std::sqrt(0.16 / decisions));
        op.run.step += 1;
        op.forward();
        CHECK(op.value[1].numbers != y);
        op.forward(ts::pass::evaluate);
        CHECK(op.value[1].numbers == op.value[0].numbers);
    }
}

TEST_CASE("batch norm: zero mean and unit variance before gamma and beta; running statistics in an evaluation") {
    const op_case row{"batch_norm", {.kind = ts::op_kind::batch_norm}, {ts::make_shape(6, 2, 3, 4)}};
    op_instance op(row);
    op.value[1].numbers = {1, 2};
    op.value[2].numbers = {0, 5};
    op.forward();
    const std::vector<double>& x = op.value[0].numbers;
    const std::vector<double>& y = op.value[5].numbers;
    for (std::size_t c = 0; c < 2; ++c) {
        double mean_x = 0;
        double variance_x = 0;
        double mean = 0;
        double variance = 0;
        const auto each = [&](auto&& f) {
            for (std::size_t i = 0; i < x.size(); ++i) {
                if (i / 12 % 2 == c) {
                    f(i);
                }
            }
        };
        each([&](std::size_t i) { mean_x += x[i] / 72; });
        each([&](std::size_t i) { variance_x += (x[i] - mean_x) * (x[i] - mean_x) / 72; });
        each([&](std::size_t i) { mean += y[i] / 72; });
        each([&](std::size_t i) { variance += (y[i] - mean) * (y[i] - mean) / 72; });
        const double gamma = c == 0 ? 1 : 2;
        CHECK(mean == doctest::Approx(c == 0 ? 0.0 : 5.0).epsilon(1e-10));
        CHECK(variance == doctest::Approx(gamma * gamma * variance_x / (variance_x + 1e-5)).epsilon(1e-9));

        // The newest statistics enter with a weight of 0.1, their variance unbiased.
        std::vector<double> running{1, 1, 3, 3};
        ts::reference::update_running<double>(op_instance::view(op.value[4]),
                                              {running.data(), ts::whole(ts::make_shape(2, 2))}, 72, 0.1);
        CHECK(running[c] == doctest::Approx(0.9 * 1 + 0.1 * mean_x).epsilon(1e-12));
        CHECK(running[2 + c] == doctest::Approx(0.9 * 3 + 0.1 * variance_x * 72 / 71).epsilon(1e-12));
    }
    op.value[3].numbers = {0.5, -1, 4, 9};
    op.forward(ts::pass::evaluate);
    CHECK(y[0] == doctest::Approx((x[0] - 0.5) / std::sqrt(4 + 1e-5)).epsilon(1e-12));
    CHECK(y[12] == doctest::Approx(2 * (x[12] + 1) / std::sqrt(9 + 1e-5) + 5).epsilon(1e-12));
}

TEST_CASE("cross-entropy is the logarithm of the label's probability, also for large logits") {
    const op_case row{"cross_entropy", {.kind = ts::op_kind::cross_entropy}, {ts::make_shape(2, 3), ts::make_shape(2)}};
    op_instance op(row);
    op.value[0].numbers = {1, 2, 3, 1000, 1001, 1002};
    op.value[1].integers = {0, 2};
    op.forward();
    const double total = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
    CHECK(op.value[ts::to_size(op.d.output())].numbers[0] ==
          doctest::Approx(-std::log(std::exp(1.0) / total)).epsilon(1e-12));
    CHECK(op.value[ts::to_size(op.d.output())].numbers[1] ==
          doctest::Approx(-std::log(std::exp(3.0) / total)).epsilon(1e-12));
}

TEST_CASE("a tile that misses what the shard needs is refused") {
    const op_case row{"conv2d",
                      ts::attributes_of(ts::op_kind::conv2d, ts::op::conv2d_attributes{.window = {3, 3}, .out = 1}),
                      {ts::make_shape(1, 1, 6, 6)}};
    op_instance op(row);
    op.value[0].region.dim[2].end = 5;
    CHECK_THROWS_WITH_AS(
        op.forward(),
        "tessera: the value of operand 0 of a conv2d misses elements in its forward pass; the plan must "
        "place its whole region on the device",
        ts::error);
}
