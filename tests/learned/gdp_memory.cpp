// SPDX-License-Identifier: Apache-2.0
// Where gradients do not flow in GDP's network: into the memory of the segment before.
#ifdef TESSERA_TEST_HOST

#include "learned/gdp_cases.hpp"

using namespace learned_test;

namespace {

/// PPO's loss over rows by plain loops: ratios of 1, so that its gradient is that of -weight * advantage * log p.
double loss_by_hand(const table& logits, const std::vector<float>& weights, const std::vector<int>& choice,
                    const std::vector<float>& before, double advantage, int rows) {
    double sum = 0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
        double all = 0;
        for (const double x : logits[i]) {
            all += std::exp(x);
        }
        const double log_p = logits[i][ts::to_size(choice[i])] - std::log(all);
        sum -= static_cast<double>(weights[i]) * advantage * std::exp(log_p - static_cast<double>(before[i]));
    }
    return sum / rows;
}

} // namespace

TEST_CASE("no gradient flows into the memory of the segment before, and one flows into all else") {
    constexpr tl::gdp_shape one = [] {
        tl::gdp_shape s = small;
        s.samples = 1;
        return s;
    }();
    using parts = tl::gdp_parts<one>;
    random_case c(5, 12);
    sp::evaluator e(c.graph, c.on);
    tl::gdp_inputs x = tl::gdp_inputs_of(one, e, 0);
    for (int i = 0; i < 8; ++i) {
        x.weights[ts::to_size(i)] = 0; // the loss looks at the last segment alone
    }
    const ts::graph g = ts::describe<tl::gdp_network<one>>(1);
    ts::trainer<tl::gdp_network<one>> trainer(ts::host::devices(1), ts::strategy(g.view()), 1,
                                              ts::sgd{.learning_rate = 0}, {.seed = 7, .keep_gradients = true});
    parameters all = parameters_of(trainer);
    gdp_by_hand hand{one, x, 12};
    hand.run(all);
    const std::vector<table> memory = hand.streams;
    std::vector<std::int32_t> choice;
    std::vector<float> before;
    for (std::size_t i = 0; i < 12; ++i) {
        choice.push_back(static_cast<int>(i % 3));
        double sum = 0;
        for (const double v : hand.logits[i]) {
            sum += std::exp(v);
        }
        before.push_back(static_cast<float>(hand.logits[i][ts::to_size(choice.back())] - std::log(sum)));
    }
    const std::vector<float> advantage{0.8F};
    const std::vector<float> bonus{0};
    trainer.step(ts::feed<parts::features>(x.features), ts::feed<parts::senders>(x.senders),
                 ts::feed<parts::receivers>(x.receivers), ts::feed<parts::shares>(x.shares),
                 ts::feed<parts::visible>(x.visible), ts::feed<parts::prior>(x.prior), ts::feed<parts::choices>(choice),
                 ts::feed<parts::before>(before), ts::feed<parts::advantages>(advantage),
                 ts::feed<parts::weights>(x.weights), ts::feed<parts::bonuses>(bonus));
    double apart = 0; // from the gradient that would flow through the memory
    double largest = 0;
    for (int p = 0; p < trainer.graph().parameter_count; ++p) {
        const std::vector<float> gradient = trainer.values().gradient(p);
        std::vector<double>& values = all.at(ts::parameter_path_of(trainer.graph(), p));
        CAPTURE(ts::parameter_path_of(trainer.graph(), p));
        for (std::size_t i = 0; i < values.size(); i += 1 + values.size() / 5) {
            const double whole = values[i];
            constexpr double h = 1e-5;
            double made[2][2] = {}; // [memory as it was, memory made anew][up, down]
            for (const int side : {0, 1}) {
                values[i] = whole + (side == 0 ? h : -h);
                for (const int anew : {0, 1}) {
                    hand.run(all, anew == 0 ? &memory : nullptr);
                    made[anew][side] = loss_by_hand(hand.logits, x.weights, choice, before, 0.8, one.nodes);
                }
            }
            values[i] = whole;
            const double stopped = (made[0][0] - made[0][1]) / (2 * h);
            const double through = (made[1][0] - made[1][1]) / (2 * h);
            CHECK(std::abs(static_cast<double>(gradient[i]) - stopped) < 2e-5 + 2e-3 * std::abs(stopped));
            apart = std::max(apart, std::abs(through - stopped));
            largest = std::max(largest, std::abs(stopped));
        }
    }
    CHECK(largest > 1e-2);
    CHECK(apart > 1e-3); // fifty times what is let pass
}

#endif
