// SPDX-License-Identifier: Apache-2.0
// The losses of policies against their formulas in double, and what PPO's steps are made of.
#include "tessera/learned/ppo.hpp"
#include "tessera/learned/ppo_loss.hpp"
#include "tessera/net/dag.hpp"
#include "tessera/op/linear.hpp"
#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

#include <memory>
#include <random>

namespace {

namespace ts = tessera;
namespace tl = tessera::learned;

std::string words_of(tl::ppo_options o) {
    try {
        tl::require(o);
    } catch (const ts::error& e) {
        return e.what();
    }
    return "";
}

} // namespace

TEST_CASE("options that make no sense are refused in words") {
    CHECK(words_of({}).empty());
    CHECK(words_of({.graphs = 0}) == "tessera: PPO: a batch of 0 graphs; give at least 1");
    CHECK(words_of({.epochs = 0}) == "tessera: PPO: 0 epochs for a batch; give at least 1");
    CHECK(words_of({.learning_rate = -1}).find("a learning rate of -1.000000") != std::string::npos);
    CHECK(words_of({.clip_norm = 0}).find("gradients clipped to a norm of 0") != std::string::npos);
    CHECK(words_of({.entropy = -1}).find("an entropy bonus of -1.0") != std::string::npos);
    CHECK(words_of({.entropy_updates = 0}).find("falls over 0 updates") != std::string::npos);
    CHECK(words_of({.infeasible = 1}).find("a reward of 1.000000 for what does not fit") != std::string::npos);
    CHECK(words_of({.memory_penalty = -1}).find("a penalty of -1.000000 for missing memory") != std::string::npos);
    CHECK(words_of({.prior = std::nan("")}).find("a prior that is not a finite number") != std::string::npos);
}

TEST_CASE("rewards, their mean and advantages") {
    CHECK(tl::reward_of({400, 0}, 100, -10) == doctest::Approx(-2));
    CHECK(tl::reward_of({400, 1}, 100, -10) == doctest::Approx(-10));
    CHECK(tl::penalized_reward({.step = 400}, 100, 50, 2) == doctest::Approx(-2));
    CHECK(tl::penalized_reward({.step = 400, .excess_bytes = 25}, 100, 50, 2) == doctest::Approx(-std::sqrt(5)));
    tl::mean_so_far mean;
    mean.add(-1);
    mean.add(-2);
    CHECK(mean.mean() == doctest::Approx(-1.5));
    const std::vector<double> rewards{-1, -4};
    CHECK(tl::advantages_of(rewards, -2, false) == std::vector<double>{1, -2});
    const double rms = std::sqrt(2.5);
    CHECK(tl::advantages_of(rewards, -2, true)[1] == doctest::Approx(-2 / rms));
    CHECK(tl::advantages_of(std::vector<double>{-2, -2}, -2, true) == std::vector<double>{0, 0});
}

TEST_CASE("choices are drawn with the probabilities of a softmax") {
    const std::vector<float> logits{0.5F, -1, 2, 0};
    double sum = 0;
    for (const float x : logits) {
        sum += std::exp(static_cast<double>(x));
    }
    ts::search::random_numbers pick{3};
    std::vector<int> count(4, 0);
    constexpr int draws = 40'000;
    for (int i = 0; i < draws; ++i) {
        const tl::drawn_choice c = tl::draw(logits, pick);
        const auto at = ts::to_size(c.choice);
        ++count[at];
        CHECK(c.log_probability == doctest::Approx(static_cast<double>(logits[at]) - std::log(sum)));
    }
    for (std::size_t d = 0; d < 4; ++d) {
        const double p = std::exp(static_cast<double>(logits[d])) / sum;
        CHECK(std::abs(count[d] - draws * p) < 5 * std::sqrt(draws * p * (1 - p))); // five deviations
    }
    CHECK(tl::most_likely(logits) == 2);
    CHECK(tl::most_likely(std::vector<float>{1, 1}) == 0);
}

#ifdef TESSERA_TEST_HOST

namespace {

constexpr int graphs = 2;
constexpr int rows = 3;
constexpr int devices = 4;
constexpr int samples = 5;
constexpr double clip = 0.25;

struct one_hot;
struct choices;
struct before;
struct advantages;
struct weights;
struct bonuses;
struct logits;
struct loss;
/// Row n of graph b is the unit vector b * rows + n, so that a column of the weights is a row of logits, and their
/// gradients are the logits'.
struct table : ts::linear<devices, ts::no_bias> {};
struct ppo_net
    : ts::dag<ts::input<one_hot, ts::sequence<rows, graphs * rows>>, ts::input<choices, ts::label_map<samples, rows>>,
              ts::input<before, ts::sequence<samples, rows>>, ts::input<advantages, ts::features<samples>>,
              ts::input<weights, ts::features<rows>>, ts::input<bonuses, ts::features<1>>,
              ts::node<logits, table, one_hot>,
              ts::node<loss, tl::ppo_loss<clip>, logits, choices, before, advantages, weights, bonuses>> {};
struct reinforce_net
    : ts::dag<ts::input<one_hot, ts::sequence<rows, graphs * rows>>, ts::input<choices, ts::tokens<rows>>,
              ts::input<advantages, ts::features<1>>, ts::input<weights, ts::features<rows>>,
              ts::input<bonuses, ts::features<1>>, ts::node<logits, table, one_hot>,
              ts::node<loss, tl::reinforce_loss, logits, choices, advantages, weights, bonuses>> {};

/// Numbers of a case, and what plain loops make of them.
struct losses_by_hand {
    std::mt19937 random;
    std::vector<float> unit = std::vector<float>(graphs * rows * graphs * rows, 0);
    std::vector<float> w = std::vector<float>(devices * graphs * rows); // [devices][graphs * rows]
    std::vector<float> row_weights;
    std::vector<float> bonus;
    double value = 0;
    std::vector<double> gradient = std::vector<double>(w.size(), 0);

    explicit losses_by_hand(unsigned seed) : random(seed) {
        for (std::size_t i = 0; i < graphs * rows; ++i) {
            unit[i * graphs * rows + i] = 1;
            row_weights.push_back(i % rows == 1 ? 0.0F : 1.5F); // one row of each graph is padding
        }
        for (float& x : w) {
            x = static_cast<float>(between(-1, 1));
        }
        bonus = {0.3F, 0.1F};
    }
    double between(double least, double most) { return std::uniform_real_distribution<double>(least, most)(random); }
    int any_choice() { return static_cast<int>(random() % devices); }
    double logit(int row, int d) const { return static_cast<double>(w[place(row, d)]); }
    static std::size_t place(int row, int d) { return ts::to_size(d * graphs * rows + row); }
    double probability(int row, int d) const {
        double sum = 0;
        for (int k = 0; k < devices; ++k) {
            sum += std::exp(logit(row, k));
        }
        return std::exp(logit(row, d)) / sum;
    }
    /// Adds scale * (slope * log p(choice) as to its gradient) and the bonus for entropy.
    void add(int row, int choice, double scale, double part, double slope) {
        double entropy = 0;
        for (int d = 0; d < devices; ++d) {
            entropy -= probability(row, d) * std::log(probability(row, d));
        }
        const double h = static_cast<double>(bonus[ts::to_size(row / rows)]);
        value -= scale * (part + h * entropy);
        for (int d = 0; d < devices; ++d) {
            const double p = probability(row, d);
            gradient[place(row, d)] -= scale * (slope * ((d == choice ? 1 : 0) - p) - h * p * (std::log(p) + entropy));
        }
    }
};

template <class Net>
auto trainer_with(const std::vector<float>& w) {
    const ts::graph g = ts::describe<Net>(graphs);
    auto t = std::make_unique<ts::trainer<Net>>(ts::host::devices(1), ts::strategy(g.view()), graphs, ts::sgd{},
                                                ts::trainer_options{.keep_gradients = true});
    t->template set_weights<logits>(w);
    return t;
}

} // namespace

TEST_CASE("PPO's loss and gradient are those of its formula, inside and outside of the clip, on both signs of the "
          "advantage") {
    int cases[2][3] = {}; // [advantage above 0][below, inside, above the clip]
    for (unsigned seed = 1; seed <= 8; ++seed) {
        losses_by_hand hand(seed);
        std::vector<std::int32_t> drawn;
        std::vector<float> old;
        std::vector<float> advantage;
        for (int i = 0; i < graphs * samples; ++i) {
            advantage.push_back(static_cast<float>(hand.between(-2, 2)));
        }
        for (int i = 0; i < graphs * samples * rows; ++i) {
            const int b = i / (samples * rows);
            const int row = b * rows + i % rows;
            const int choice = hand.any_choice();
            drawn.push_back(choice);
            old.push_back(static_cast<float>(std::log(hand.probability(row, choice)) + hand.between(-0.6, 0.6)));
            const double a = static_cast<double>(advantage[ts::to_size(i / rows)]);
            const double r = hand.probability(row, choice) / std::exp(static_cast<double>(old.back()));
            const double inside = std::min(std::max(r, 1 - clip), 1 + clip);
            const bool flows = r * a <= inside * a;
            const double scale = static_cast<double>(hand.row_weights[ts::to_size(row)]) / (graphs * samples * rows);
            hand.add(row, choice, scale, std::min(r * a, inside * a), flows ? r * a : 0);
            ++cases[a > 0 ? 1 : 0][r < 1 - clip ? 0 : r > 1 + clip ? 2 : 1];
        }
        const auto t = trainer_with<ppo_net>(hand.w);
        const double value = t->step(ts::feed<one_hot>(hand.unit), ts::feed<choices>(drawn), ts::feed<before>(old),
                                     ts::feed<advantages>(advantage), ts::feed<weights>(hand.row_weights),
                                     ts::feed<bonuses>(hand.bonus));
        CHECK(value == doctest::Approx(hand.value).epsilon(1e-5));
        const std::vector<float> gradient = t->values().gradient(0);
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            CHECK(std::abs(static_cast<double>(gradient[i]) - hand.gradient[i]) < 1e-5);
        }
    }
    for (const auto& sign : cases) {
        for (const int count : sign) {
            CHECK(count > 15);
        }
    }
}

TEST_CASE("REINFORCE's loss and gradient are those of its formula") {
    for (unsigned seed = 1; seed <= 4; ++seed) {
        losses_by_hand hand(seed);
        const std::vector<float> advantage{-1.5F, 0.75F};
        std::vector<std::int32_t> drawn;
        for (int row = 0; row < graphs * rows; ++row) {
            const int choice = hand.any_choice();
            drawn.push_back(choice);
            const double a = static_cast<double>(advantage[ts::to_size(row / rows)]);
            const double scale = static_cast<double>(hand.row_weights[ts::to_size(row)]) / (graphs * rows);
            hand.add(row, choice, scale, a * std::log(hand.probability(row, choice)), a);
        }
        const auto t = trainer_with<reinforce_net>(hand.w);
        const double value =
            t->step(ts::feed<one_hot>(hand.unit), ts::feed<choices>(drawn), ts::feed<advantages>(advantage),
                    ts::feed<weights>(hand.row_weights), ts::feed<bonuses>(hand.bonus));
        CHECK(value == doctest::Approx(hand.value).epsilon(1e-5));
        const std::vector<float> gradient = t->values().gradient(0);
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            CHECK(std::abs(static_cast<double>(gradient[i]) - hand.gradient[i]) < 1e-5);
        }
    }
}

#endif
