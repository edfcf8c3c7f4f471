// SPDX-License-Identifier: Apache-2.0
// A network with two losses says each of them after a step and after an evaluation; losses of rows are what their
// formulas say.
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

constexpr ts::index_t batch = 6;
constexpr int classes = 4;

struct x;
struct label;
struct soft;
struct logits;
struct hard_loss;
struct soft_loss;
struct hard : ts::smooth_cross_entropy<0.2> {};
struct third_of_soft : ts::weighted_loss<ts::soft_cross_entropy<>, ts::weight<1, 3>> {};
struct network : ts::dag<ts::input<x, ts::features<3>>, ts::input<label, ts::labels>,
                         ts::input<soft, ts::features<classes>>, ts::node<logits, ts::linear<classes>, x>,
                         ts::node<hard_loss, hard, logits, label>, ts::node<soft_loss, third_of_soft, logits, soft>> {};

/// The sum of -q log softmax of a row.
double cross_entropy(const float* row, const std::vector<double>& q) {
    double total = 0;
    for (int k = 0; k < classes; ++k) {
        total += std::exp(static_cast<double>(row[k]));
    }
    double loss = 0;
    for (int k = 0; k < classes; ++k) {
        loss += q[ts::to_size(k)] * (std::log(total) - static_cast<double>(row[k]));
    }
    return loss;
}

} // namespace

TEST_CASE("each loss of a network can be read after a step") {
    std::vector<float> inputs;
    std::vector<float> probabilities;
    const std::vector<std::int32_t> numbers = {0, 3, 1, 1, 2, 0};
    for (int i = 0; i < batch * 3; ++i) {
        inputs.push_back(static_cast<float>(std::sin(1.3 * i)));
    }
    for (int i = 0; i < batch * classes; ++i) {
        probabilities.push_back(static_cast<float>(1 + i % 3) / 7);
    }
    const ts::graph g = ts::describe<network>(batch);
    for (const int devices : {1, 2}) {
        CAPTURE(devices);
        ts::strategy s = ts::search::data_parallel(g.view(), devices);
        s.micro_batches = devices == 2 ? 3 : 1;
        ts::trainer<network, ts::reference::backend> t(ts::local_devices(devices), s, batch,
                                                       ts::sgd{.learning_rate = 0.1F});
        CHECK_THROWS_WITH(t.losses(), "tessera: there are no losses before the first step or evaluation");
        struct {
            std::vector<float> inputs;
        } const fed{inputs};
        const std::vector<float> y = t.predict<logits>(fed).values;
        double expected[2] = {};
        for (std::size_t n = 0; n < batch; ++n) {
            std::vector<double> smooth(classes, 0.2 / classes);
            smooth[ts::to_size(numbers[n])] += 0.8;
            std::vector<double> q;
            for (std::size_t k = 0; k < classes; ++k) {
                q.push_back(static_cast<double>(probabilities[n * classes + k]));
            }
            expected[0] += cross_entropy(y.data() + n * classes, smooth) / batch;
            expected[1] += cross_entropy(y.data() + n * classes, q) / batch;
        }
        const auto all = ts::named_batch(ts::feed<x>(inputs), ts::feed<label>(numbers), ts::feed<soft>(probabilities));
        const auto held = [&](double total) {
            CHECK(t.loss<hard_loss>() == doctest::Approx(expected[0]).epsilon(1e-5));
            CHECK(t.loss<soft_loss>() == doctest::Approx(expected[1]).epsilon(1e-5));
            CHECK(total == doctest::Approx(expected[0] + expected[1] / 3).epsilon(1e-5));
            const std::vector<ts::layer_loss> losses = t.losses();
            REQUIRE(losses.size() == 2);
            CHECK(losses[0].layer == "hard_loss");
            CHECK(losses[0].value == t.loss<hard_loss>());
            CHECK(losses[1].layer == "soft_loss");
            CHECK(losses[1].value == t.loss<soft_loss>());
            CHECK(losses[1].weight == doctest::Approx(1.0 / 3));
        };
        held(t.evaluate(all).loss);
        held(static_cast<double>(t.step(all)));
        for (int i = 0; i < 20; ++i) {
            t.step(all);
        }
        CHECK(t.loss<hard_loss>() < expected[0]);
        CHECK_THROWS_AS(t.values().loss_of(0), ts::error); // the linear layer
    }
}
