// SPDX-License-Identifier: Apache-2.0
// The code of "Losses" in docs/training.md and of "A loss" in docs/adding_an_operator.md.
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

namespace ts = tessera;

struct log_cosh : ts::row_loss<log_cosh> {
    static constexpr auto of(auto x, auto target) {
        const auto size = abs(x - target);
        return size + softplus(-2 * size) - 0.6931471805599453;
    }
};

struct worst : ts::operation<worst> {
    static constexpr void body(auto& w) {
        const auto [n, c] = w.loops(sample, channel);
        const auto x = w.input(n, c);
        const auto target = w.input(n, c);
        w.loss(n) = w.max(c, square(x - target));
    }
};

namespace language_model {
struct words : ts::embedding<100, 16> {};
struct middle : ts::linear<16> {};
struct network : ts::sequential<ts::tokens<6>, words, middle, ts::gelu, ts::tied<ts::vocabulary_loss<100>, words>> {};
} // namespace language_model

struct fc : ts::linear<2> {};
template <class Loss>
struct network : ts::sequential<ts::features<3>, fc, Loss> {};

/// A loss's value by a function of a row of predictions and one of targets, divided by the number of rows.
template <class Loss>
void check(double (*row)(const float* x, const float* target)) {
    const std::vector<float> x = {1, 2, 3, -1, 0, 2, 3, 1, 0, 0.5F, -2, 1};
    const std::vector<float> wanted = {1, 0, -1, 2, 3, 0, 0.5F, 1};
    const ts::graph g = ts::describe<network<Loss>>(4);
    ts::trainer<network<Loss>, ts::reference::backend> trainer(
        ts::local_devices(2), ts::search::data_parallel(g.view(), 2), 4, ts::sgd{.learning_rate = 0.02F});
    const auto batch = ts::named_batch(ts::feed<ts::features<3>>(x), ts::feed<ts::labels>(wanted));
    struct {
        std::vector<float> inputs;
    } const inputs{x};
    const std::vector<float> y = trainer.predict(inputs).values;
    double expected = 0;
    for (std::size_t n = 0; n < 4; ++n) {
        expected += row(y.data() + 2 * n, wanted.data() + 2 * n) / 4;
    }
    const double first = static_cast<double>(trainer.step(batch));
    CHECK(first == doctest::Approx(expected).epsilon(1e-5));
    for (int i = 0; i < 100; ++i) {
        trainer.step(batch);
    }
    CHECK(trainer.evaluate(batch).loss < 0.8 * first);
}
double difference(float x, float target) { return static_cast<double>(x) - static_cast<double>(target); }

} // namespace

TEST_CASE("losses of one's own train") {
    check<log_cosh>([](const float* x, const float* target) {
        return (std::log(std::cosh(difference(x[0], target[0]))) + std::log(std::cosh(difference(x[1], target[1])))) /
               2;
    });
    check<worst>([](const float* x, const float* target) {
        return std::pow(std::max(std::abs(difference(x[0], target[0])), std::abs(difference(x[1], target[1]))), 2);
    });
}

TEST_CASE("a language model without logits trains") {
    using net = language_model::network;
    const ts::graph g = ts::describe<net>(4);
    ts::trainer<net, ts::reference::backend> trainer(ts::local_devices(2), ts::search::data_parallel(g.view(), 2), 4,
                                                     ts::sgd{.learning_rate = 1.0F});
    std::vector<std::int32_t> text;
    std::vector<std::int32_t> next;
    for (int i = 0; i < 24; ++i) {
        text.push_back(i * 7 % 100);
        next.push_back((i + 1) * 7 % 100);
    }
    const auto batch = ts::named_batch(ts::feed<ts::tokens<6>>(text), ts::feed<ts::labels>(next));
    const double first = trainer.step(batch);
    CHECK(first == doctest::Approx(std::log(100.0)).epsilon(0.1));
    for (int i = 0; i < 100; ++i) {
        trainer.step(batch);
    }
    CHECK(trainer.evaluate(batch).loss < 0.8 * first);
}
