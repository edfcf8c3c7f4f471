// SPDX-License-Identifier: Apache-2.0
// Losses of numbers in training, on any backend, against formulas written down by hand: what a step returns, and where
// it moves a bias.
#pragma once

#include "tessera/execute/trainer.hpp"
#include "tessera/net/describe.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

namespace loss_training {

namespace ts = tessera;

inline constexpr ts::index_t batch = 6;
inline constexpr int inputs = 3;
inline constexpr int outputs = 4;

struct fc : ts::linear<outputs> {};
template <class Loss>
struct regression : ts::sequential<ts::features<inputs>, fc, Loss> {};

/// Differences of a user's own: quartic, summed over the global batch.
struct quartic : ts::row_loss<quartic> {
    static constexpr auto reduction = ts::loss_reduction::sum;
    static constexpr auto of(auto x, auto t) { return pow(x - t, 4); }
};
/// Without targets.
struct energy : ts::row_loss<energy> {
    static constexpr auto of(auto x) { return exp(x) - x; }
};

/// A loss of one prediction and target, in double, and what the sum is divided by.
struct formula {
    double (*of)(double x, double target);
    double divisor;
    double weight = 1;
};
inline constexpr double elements = batch * outputs;
inline double log_sigmoid(double x) { return -std::log1p(std::exp(-x)); }

template <class Loss>
formula formula_of();
template <>
inline formula formula_of<ts::mse_loss>() {
    return {[](double x, double t) { return (x - t) * (x - t); }, elements};
}
template <>
inline formula formula_of<ts::l1_loss>() {
    return {[](double x, double t) { return std::abs(x - t); }, elements};
}
template <>
inline formula formula_of<ts::huber_loss<0.5>>() {
    return {[](double x, double t) {
                const double d = std::abs(x - t);
                return d <= 0.5 ? d * d / 2 : 0.5 * (d - 0.25);
            },
            elements};
}
template <>
inline formula formula_of<ts::bce_with_logits>() {
    return {[](double x, double t) { return -t * log_sigmoid(x) - (1 - t) * log_sigmoid(-x); }, elements};
}
template <>
inline formula formula_of<ts::kl_divergence>() {
    return {[](double x, double t) { return t > 0 ? t * (std::log(t) - x) : 0; }, batch};
}
template <>
inline formula formula_of<quartic>() {
    return {[](double x, double t) { return std::pow(x - t, 4); }, 1};
}
template <>
inline formula formula_of<energy>() {
    return {[](double x, double) { return std::exp(x) - x; }, elements};
}

/// The loss of predictions whose column `moved` is `by` larger.
inline double loss_of(const formula& f, const std::vector<float>& y, const std::vector<float>& targets,
                      std::size_t moved = 0, double by = 0) {
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
        sum += f.of(static_cast<double>(y[i]) + (i % outputs == moved ? by : 0), static_cast<double>(targets[i]));
    }
    return f.weight * sum / f.divisor;
}

/// Splits by samples and by channels, of the loss alone and of all, with micro-batches.
template <class Net>
std::vector<ts::strategy> strategies_of() {
    const ts::graph g = ts::describe<Net>(batch);
    std::vector<ts::strategy> all(5, ts::strategy(g.view()));
    all[1].ops[0].degree[0] = all[1].ops[1].degree[0] = 2;
    all[2].ops[1].degree[1] = 2;
    all[3].ops[0].degree[1] = all[3].ops[1].degree[0] = 2;
    all[4].ops[0].degree[0] = all[4].ops[1].degree[1] = 2;
    all[4].micro_batches = 3;
    return all;
}

template <class Loss, class Backend>
void check() {
    using net = regression<Loss>;
    const formula f = formula_of<Loss>();
    std::vector<float> x;
    std::vector<float> targets;
    for (int i = 0; i < batch * inputs; ++i) {
        x.push_back(static_cast<float>(std::sin(1.7 * i)));
    }
    for (int i = 0; i < batch * outputs; ++i) {
        targets.push_back(i % 5 == 0 ? 0.0F : static_cast<float>(0.5 + 0.5 * std::sin(0.9 * i)));
    }
    constexpr float rate = 0.25F;
    struct {
        std::vector<float> inputs;
    } const input{x};
    int number = 0;
    for (const ts::strategy& s : strategies_of<net>()) {
        CAPTURE(number++);
        ts::trainer<net, Backend> t(ts::local_devices(2), s, batch, ts::sgd{.learning_rate = rate});
        const std::vector<float> y = t.template predict<fc>(input).values;
        const std::vector<float> before = t.values().parameter(1);
        double loss = 0;
        const auto measure = [&](const auto& given) {
            CHECK(t.evaluate(given).loss == doctest::Approx(loss_of(f, y, targets)).epsilon(1e-5));
            loss = static_cast<double>(t.step(given));
        };
        if constexpr (std::is_same_v<Loss, energy>) {
            measure(ts::named_batch(ts::feed<ts::features<inputs>>(x)));
        } else {
            measure(ts::named_batch(ts::feed<ts::features<inputs>>(x), ts::feed<ts::labels>(targets)));
        }
        CHECK(loss == doctest::Approx(loss_of(f, y, targets)).epsilon(1e-5));
        const std::vector<float> after = t.values().parameter(1);
        for (std::size_t c = 0; c < outputs; ++c) {
            const double by = 1e-6;
            const double slope = (loss_of(f, y, targets, c, by) - loss_of(f, y, targets, c, -by)) / (2 * by);
            CHECK(static_cast<double>(before[c] - after[c]) ==
                  doctest::Approx(static_cast<double>(rate) * slope).epsilon(2e-4));
        }
    }
}

} // namespace loss_training
