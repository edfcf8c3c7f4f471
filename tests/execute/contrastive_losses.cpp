// SPDX-License-Identifier: Apache-2.0
// Losses that compare the rows of two towers are what their papers say, written down here in plain loops, under random
// strategies of 1 to 8 devices.
#include "support/random_strategy.hpp"
#include "support/refusal.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/net/dag.hpp"
#include "tessera/search/by_hand/baselines.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;
using test_support::contains;
using test_support::message_of;
using numbers = std::vector<double>;

constexpr std::size_t samples = 7;
constexpr std::size_t width = 3;    // of what comes in
constexpr std::size_t features = 4; // that are compared

using input_row = ts::features<static_cast<int>(width)>;
struct left;
struct right;
struct loss;
struct unit_a;
struct unit_b;
struct tower_a : ts::linear<static_cast<int>(features)> {};
struct tower_b : ts::linear<static_cast<int>(features)> {};
template <class Loss>
struct network : ts::dag<ts::input<left, input_row>, ts::input<right, input_row>, ts::node<tower_a, tower_a, left>,
                         ts::node<tower_b, tower_b, right>, ts::node<loss, Loss, tower_a, tower_b>> {};
/// Rows of length 1, as in CLIP.
struct of_cosines
    : ts::dag<ts::input<left, input_row>, ts::input<right, input_row>, ts::node<tower_a, tower_a, left>,
              ts::node<unit_a, ts::l2_normalize, tower_a>, ts::node<tower_b, tower_b, right>,
              ts::node<unit_b, ts::l2_normalize, tower_b>,
              ts::node<loss, ts::clip_loss<ts::initial_weights<ts::initial::constant<3, 2>>>, unit_a, unit_b>> {};

struct definition {
    bool both_ways = false;
    double scale = 1; ///< of the products
};

/// Cross-entropy of each row among all others, averaged.
double one_way(const numbers& a, const numbers& b, std::size_t rows, double scale) {
    double sum = 0;
    for (std::size_t n = 0; n < rows; ++n) {
        double total = 0;
        double own = 0;
        for (std::size_t m = 0; m < rows; ++m) {
            double z = 0;
            for (std::size_t c = 0; c < features; ++c) {
                z += scale * a[n * features + c] * b[m * features + c];
            }
            total += std::exp(z);
            own = n == m ? z : own;
        }
        sum += std::log(total) - own;
    }
    return sum / static_cast<double>(rows);
}
double loss_of(const numbers& a, const numbers& b, std::size_t rows, const definition& d) {
    const double there = one_way(a, b, rows, d.scale);
    return d.both_ways ? (there + one_way(b, a, rows, d.scale)) / 2 : there;
}

/// What a linear layer makes.
numbers product(const numbers& x, const std::vector<float>& w, const std::vector<float>& bias, std::size_t rows) {
    numbers y;
    for (std::size_t n = 0; n < rows; ++n) {
        for (std::size_t o = 0; o < features; ++o) {
            double sum = static_cast<double>(bias[o]);
            for (std::size_t i = 0; i < width; ++i) {
                sum += static_cast<double>(w[o * width + i]) * x[n * width + i];
            }
            y.push_back(sum);
        }
    }
    return y;
}

std::vector<float> random_floats(std::size_t count, test_support::random& pick) {
    std::vector<float> x;
    while (x.size() < count) {
        x.push_back(static_cast<float>(pick(2000) - 1000) / 700);
    }
    return x;
}

/// `learned`: the loss has a parameter t, and the scale is exp(t).
template <class Net>
void check(definition d, bool learned, bool unit) {
    constexpr float rate = 0.25F;
    const ts::graph g = ts::describe<Net>(samples);
    test_support::coverage seen;
    for (int devices = 1; devices <= 8; ++devices) {
        CAPTURE(devices);
        test_support::random pick{static_cast<std::uint64_t>(devices * 31 + (learned ? 7 : 0))};
        ts::strategy s = devices == 2 ? ts::search::data_parallel(g.view(), 2)
                                      : test_support::random_strategy(g.view(), devices, pick.state, seen);
        s.statistics = devices % 2 == 0 ? ts::statistics_over::replica : s.statistics; // it has no say in a loss
        ts::trainer<Net, ts::reference::backend> t(ts::local_devices(devices), s, samples,
                                                   ts::sgd{.learning_rate = rate});
        const std::vector<float> x = random_floats(samples * width, pick);
        const std::vector<float> y = random_floats(samples * width, pick);
        const numbers in_a(x.begin(), x.end());
        const numbers in_b(y.begin(), y.end());
        std::vector<std::vector<float>> p{t.template weights<tower_a>(), t.template bias<tower_a>(),
                                          t.template weights<tower_b>(), t.template bias<tower_b>()};
        if (learned) {
            p.push_back(t.values().parameter(4));
            CHECK(p[4].size() == 1);
            CHECK(std::exp(static_cast<double>(p[4][0])) == doctest::Approx(d.scale).epsilon(1e-6));
        }
        const auto loss_at = [&](const std::vector<std::vector<float>>& q, std::size_t rows, std::size_t which,
                                 std::size_t at, double by) {
            numbers a = product(in_a, q[0], q[1], rows);
            numbers b = product(in_b, q[2], q[3], rows);
            definition moved = d;
            for (std::size_t n = 0; n < rows; ++n) {
                if (which == 0 || which == 2) {
                    (which == 0 ? a : b)[n * features + at / width] +=
                        by * (which == 0 ? in_a : in_b)[n * width + at % width];
                } else if (which == 1 || which == 3) {
                    (which == 1 ? a : b)[n * features + at] += by;
                }
            }
            moved.scale *= which == 4 ? std::exp(by) : 1;
            for (numbers* const all : {&a, &b}) {
                for (std::size_t n = 0; n < rows && unit; ++n) {
                    double square = 0;
                    for (std::size_t c = 0; c < features; ++c) {
                        square += (*all)[n * features + c] * (*all)[n * features + c];
                    }
                    for (std::size_t c = 0; c < features; ++c) {
                        (*all)[n * features + c] /= std::sqrt(square);
                    }
                }
            }
            return loss_of(a, b, rows, moved);
        };
        const auto batch = [&](std::size_t rows) {
            return ts::named_batch(ts::feed<left>(std::span<const float>(x).first(rows * width)),
                                   ts::feed<right>(std::span<const float>(y).first(rows * width)));
        };
        const double expected = loss_at(p, samples, 0, 0, 0);
        CHECK(t.evaluate(batch(samples)).loss == doctest::Approx(expected).epsilon(1e-5));
        CHECK(t.evaluate(batch(3)).loss == doctest::Approx(loss_at(p, 3, 0, 0, 0)).epsilon(1e-5));
        CHECK(t.evaluate(batch(1)).loss == doctest::Approx(0).epsilon(1e-6)); // there is no other row
        CHECK(static_cast<double>(t.step(batch(samples))) == doctest::Approx(expected).epsilon(1e-5));
        for (std::size_t k = 0; k < p.size(); ++k) {
            const std::vector<float> after = t.values().parameter(static_cast<int>(k));
            double moved = 0;
            for (std::size_t i = 0; i < after.size(); ++i) {
                const double step = 1e-5;
                const double slope = (loss_at(p, samples, k, i, step) - loss_at(p, samples, k, i, -step)) / (2 * step);
                CAPTURE(k);
                CHECK(std::abs(static_cast<double>(p[k][i] - after[i]) / static_cast<double>(rate) - slope) < 3e-5);
                moved += std::abs(slope);
            }
            const bool shifts_all = k == 3 && !d.both_ways; // all products of a row, which leaves its softmax alone
            CHECK((moved > 1e-3) != shifts_all);
        }
    }
    CHECK(seen.roles[static_cast<int>(ts::loop_role::coupled)] > 0);
}

} // namespace

TEST_CASE("a tower's rows are told from all rows of the other one") {
    check<network<ts::info_nce_loss<0.5>>>({false, 2}, false, false);
}

TEST_CASE("two towers are told from each other, both ways") {
    check<network<ts::contrastive_loss<0.25>>>({true, 4}, false, false);
}

TEST_CASE("CLIP's loss learns its temperature") {
    check<network<ts::clip_loss<ts::initial_weights<ts::initial::zeros>>>>({true, 1}, true, false);
    check<of_cosines>({true, std::exp(1.5)}, true, true);
    const ts::graph g = ts::describe<network<ts::clip_loss<>>>(samples);
    ts::trainer<network<ts::clip_loss<>>, ts::reference::backend> t(ts::local_devices(1), ts::strategy(g.view()),
                                                                    samples, ts::sgd{});
    CHECK(std::exp(-t.template weights<loss>()[0]) == doctest::Approx(0.07).epsilon(1e-6));
}

TEST_CASE("a contrastive loss takes no micro-batches and towers of one shape, and says so") {
    const auto told = [](auto net, int micro_batches) {
        return message_of([&] {
            const ts::graph g = ts::describe<decltype(net)>(4);
            ts::strategy s(g.view());
            s.micro_batches = micro_batches;
            ts::require(g.view(), s.view(), 1);
        });
    };
    const char* const words = ts::to_text(ts::rule::loss_joins_micro_batches);
    CHECK(contains(told(network<ts::info_nce_loss<>>{}, 2), words));
    CHECK(contains(told(network<ts::contrastive_loss<>>{}, 2), words));
    CHECK(contains(told(network<ts::clip_loss<>>{}, 2), words));
    CHECK(told(network<ts::clip_loss<>>{}, 1) == "accepted");
    const ts::shape narrow[] = {ts::make_shape(4, 3), ts::make_shape(4, 2)};
    const ts::shape high[] = {ts::make_shape(4, 3, 2), ts::make_shape(4, 3, 2)};
    CHECK(ts::infer(ts::clip_loss<>::attributes, narrow, 2).refused.broken == ts::rule::extents_differ);
    CHECK(ts::infer(ts::info_nce_loss<>::attributes, high, 2).refused.broken == ts::rule::input_has_wrong_rank);
}
