// SPDX-License-Identifier: Apache-2.0
// The loop over epochs: every sample once in each, in the order of its seed, and what it reports.
#include "tessera/io/train.hpp"
#include "support/refusal.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/part/residual.hpp"

#include <doctest/doctest.h>

#include <string>
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

// A GPT as in the README, small.
struct words : ts::embedding<11, 8> {};
struct places : ts::position_embedding<> {};
struct norm1 : ts::layer_norm<> {};
struct norm2 : ts::layer_norm<> {};
struct norm3 : ts::layer_norm<> {};
struct query : ts::linear<8> {};
struct key : ts::linear<8> {};
struct value : ts::linear<8> {};
struct merge : ts::linear<8> {};
struct wide : ts::linear<16> {};
struct narrow : ts::linear<8> {};
struct logits : ts::linear<11, ts::no_bias> {};
using attention = ts::self_attention<2, query, key, value, merge, ts::softmax<ts::causal>, ts::dropout<10>>;
struct gpt : ts::sequential<ts::tokens<6>, words, places,
                            ts::repeat<2, ts::residual<norm1, attention>, ts::residual<norm2, wide, ts::gelu, narrow>>,
                            norm3, ts::tied<logits, words>, ts::cross_entropy> {};
using gpt_trainer = ts::trainer<gpt, ts::reference::backend>;

gpt_trainer make_gpt() {
    return {ts::local_devices(1), ts::strategy(ts::describe<gpt>(4).view()), 4, ts::sgd{.learning_rate = 0.5F}, {}};
}

/// Texts in which 3 more than a token comes next.
ts::io::token_set make_texts(int samples) {
    std::vector<std::int32_t> texts;
    std::vector<std::int32_t> next;
    for (int i = 0; i < samples; ++i) {
        for (int k = 0; k < 6; ++k) {
            texts.push_back((i * 5 + 3 * k) % 11);
            next.push_back((i * 5 + 3 * k + 3) % 11);
        }
    }
    return {texts, next, samples};
}

TEST_CASE("a GPT trains on integers by a batch, by names and by the loop, with the same numbers") {
    const ts::io::token_set set = make_texts(10);
    const auto go = [&](const auto& step) {
        gpt_trainer trainer = make_gpt();
        std::vector<double> losses;
        for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
            for (const ts::io::token_batch& b : set.batches(4, {.shuffle_seed = 5, .epoch = epoch})) {
                losses.push_back(step(trainer, b));
            }
        }
        return losses;
    };
    const std::vector<double> by_batch =
        go([](gpt_trainer& trainer, const ts::io::token_batch& b) { return trainer.step(b); });
    const std::vector<double> by_name = go([](gpt_trainer& trainer, const ts::io::token_batch& b) {
        return trainer.step(ts::feed<ts::labels>(b.labels), ts::feed<ts::tokens<6>>(b.inputs));
    });
    gpt_trainer trainer = make_gpt();
    std::vector<double> by_loop;
    for (const ts::io::epoch_record& r : ts::io::train(trainer, set, {.epochs = 3, .shuffle_seed = 5})) {
        by_loop.insert(by_loop.end(), r.losses.begin(), r.losses.end());
    }
    REQUIRE(by_batch.size() == 9); // batches of 4, 4 and 2
    CHECK(by_name == by_batch);
    CHECK(by_loop == by_batch);
    CHECK(by_batch.back() < 0.9 * by_batch.front());
    const ts::scores s = trainer.evaluate(set.batches(4));
    CHECK(s.samples == 10);
    CHECK(s.rows == 60);
}

TEST_CASE("numbers for tokens, and tokens for numbers, are refused in words") {
    gpt_trainer texts = make_gpt();
    const std::string numbers = test_support::message_of([&] { texts.step(make_set(4).all()); });
    CHECK(test_support::contains(numbers, "the input takes integers and the batch's `inputs` are numbers"));
    plain_trainer trainer = make_trainer();
    const std::string tokens = test_support::message_of([&] { trainer.step(make_texts(4).all()); });
    CHECK(test_support::contains(tokens, "the input takes numbers and the batch's `inputs` are integers"));
    const ts::io::token_set unknown({11, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0}, 1);
    CHECK(test_support::contains(test_support::message_of([&] { texts.step(unknown.all()); }),
                                 "token 11 of sample 0, position 0 is not one of the 11 rows of words"));
}

TEST_CASE("no epochs are refused") {
    plain_trainer trainer = make_trainer();
    CHECK_THROWS_AS(ts::io::train(trainer, make_set(8), {.epochs = 0}), ts::error);
    CHECK(trainer.steps() == 0);
}

} // namespace
