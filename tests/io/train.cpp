// SPDX-License-Identifier: Apache-2.0
// The loop over epochs: every sample once in each, in the order of its seed, and what it reports.
#include "tessera/io/train.hpp"
#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace {

namespace ts = tessera;

struct fc : ts::linear<3> {};
struct network : ts::sequential<ts::features<4>, fc, ts::cross_entropy> {};
using plain_trainer = ts::trainer<network, ts::reference::backend>;

plain_trainer make_trainer() {
    return {ts::local_devices(1), ts::strategy(ts::describe<network>(8).view()), 8, ts::sgd{.learning_rate = 0.1F}, {}};
}

ts::io::sample_set make_set(int samples) {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    for (int i = 0; i < samples; ++i) {
        labels.push_back(i % 3);
        for (int k = 0; k < 4; ++k) {
            inputs.push_back(static_cast<float>((i * 7 + k * 5) % 11) / 5.0F - 1.0F + (k == i % 3 ? 1.0F : 0.0F));
        }
    }
    return {inputs, labels};
}

TEST_CASE("training takes the steps that a loop by hand takes") {
    const ts::io::sample_set set = make_set(21);
    plain_trainer by_hand = make_trainer();
    std::vector<double> losses;
    std::vector<double> means;
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
        double sum = 0;
        for (const auto& b : set.batches(8, {.shuffle_seed = 5, .epoch = epoch})) {
            losses.push_back(by_hand.step(b));
            sum += losses.back() * static_cast<double>(b.size);
        }
        means.push_back(sum / 21);
    }
    plain_trainer trainer = make_trainer();
    int calls = 0;
    const auto records =
        ts::io::train(trainer, set, {.epochs = 3, .shuffle_seed = 5, .after_epoch = [&](const ts::io::epoch_record& r) {
                                         CHECK(r.epoch == ++calls);
                                     }});
    REQUIRE(records.size() == 3);
    CHECK(calls == 3);
    std::vector<double> seen;
    for (std::size_t e = 0; e < 3; ++e) {
        CHECK(records[e].samples == 21);
        CHECK(records[e].loss == doctest::Approx(means[e]));
        CHECK(records[e].samples_per_second() > 0);
        seen.insert(seen.end(), records[e].losses.begin(), records[e].losses.end());
    }
    CHECK(seen == losses);
    CHECK(trainer.weights<fc>() == by_hand.weights<fc>());
    CHECK(means[2] < means[0]);
}

TEST_CASE("a short last batch can be left out") {
    plain_trainer trainer = make_trainer();
    const auto records = ts::io::train(trainer, make_set(21), {.drop_last = true});
    CHECK(records[0].samples == 16);
    CHECK(trainer.steps() == 2);
}

TEST_CASE("no epochs are refused") {
    plain_trainer trainer = make_trainer();
    CHECK_THROWS_AS(ts::io::train(trainer, make_set(8), {.epochs = 0}), ts::error);
    CHECK(trainer.steps() == 0);
}

} // namespace
