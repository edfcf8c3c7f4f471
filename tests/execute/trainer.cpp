// SPDX-License-Identifier: Apache-2.0
// The trainer: what it computes against a session and closed formulas, and what it refuses.
#include "tessera/execute/trainer.hpp"
#include "support/refusal.hpp"
#include "support/same_numbers.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/net/dag.hpp"
#include "tessera/schedule/policies.hpp"
#include "tessera/schedule/schedules.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace {

namespace ts = tessera;
using test_support::contains;
using test_support::message_of;

struct fc1 : ts::linear<6> {};
struct fc2 : ts::linear<3> {};
struct norm : ts::batch_norm<> {};
struct small : ts::sequential<ts::features<5>, fc1, norm, ts::relu, ts::dropout<20>, fc2, ts::cross_entropy> {};
struct cell : ts::linear<4> {};
struct repeated : ts::sequential<ts::features<4>, ts::repeat<2, cell, ts::tanh>, ts::cross_entropy> {};

// Two inputs of numbers, labels, two weighted losses.
struct left;
struct right;
struct truth;
struct from_left : ts::linear<4> {};
struct from_right : ts::linear<4> {};
struct joined;
struct head : ts::linear<4> {};
struct main_loss : ts::cross_entropy {};
struct side_loss : ts::weighted_cross_entropy<ts::weight<1, 2>> {};
struct two_inputs
    : ts::dag<ts::input<truth, ts::labels>, ts::input<left, ts::features<3>>, ts::input<right, ts::features<2>>,
              ts::node<from_left, from_left, left>, ts::node<from_right, from_right, right>,
              ts::node<joined, ts::add, from_left, from_right>, ts::node<head, head, joined>,
              ts::node<main_loss, main_loss, head, truth>, ts::node<side_loss, side_loss, joined, truth>> {};

using halves =
    ts::strategy_of<small, 2, 8, ts::on<fc1, ts::split<ts::sample, 2>>, ts::on<fc2, ts::split<ts::reduction, 2>>,
                    ts::on<norm, ts::split<ts::sample, 2>, ts::with_reduction>>;
template <class Net>
using plain_trainer = ts::trainer<Net, ts::reference::backend>;

struct samples {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    int size = 0;
};

samples make_samples(int count, int features, int classes, std::uint64_t seed) {
    test_support::random pick{seed};
    samples s;
    s.size = count;
    for (int i = 0; i < count * features; ++i) {
        s.inputs.push_back(static_cast<float>(pick(2001) - 1000) / 500.0F);
    }
    for (int i = 0; i < count; ++i) {
        s.labels.push_back(pick(classes));
    }
    return s;
}

std::vector<samples> cut(const samples& all, int size) {
    const std::size_t each = all.inputs.size() / ts::to_size(all.size);
    std::vector<samples> parts;
    for (int first = 0; first < all.size; first += size) {
        const int count = std::min(size, all.size - first);
        const auto at = [&](int i) { return all.inputs.begin() + static_cast<std::ptrdiff_t>(each) * i; };
        parts.push_back(
            {{at(first), at(first + count)}, {all.labels.begin() + first, all.labels.begin() + first + count}, count});
    }
    return parts;
}

TEST_CASE("a trainer takes the steps of one device in double") {
    const ts::graph g = ts::describe<small>(8);
    const test_support::batch_data data(g.view(), 5);
    const ts::optimizer how = ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F};
    const test_support::oracle expected(g.view(), data, how, 3, 42);
    plain_trainer<small> trainer(ts::local_devices(2), halves{}, how, {.seed = 42});
    samples batch{data.numbers[0], data.labels[1], 8};
    const std::vector<float> start = trainer.weights<fc2>();
    for (double loss : expected.losses) {
        CHECK(trainer.step(batch) == doctest::Approx(loss).epsilon(1e-5));
    }
    CHECK(trainer.steps() == 3);
    CHECK(trainer.batch() == 8);
    const std::vector<float> end = trainer.weights<fc2>();
    REQUIRE(end.size() == 18);
    for (std::size_t i = 0; i < end.size(); ++i) {
        const double moved = static_cast<double>(end[i]) - static_cast<double>(start[i]);
        CHECK(moved == doctest::Approx(expected.change[5][i]).epsilon(1e-3)); // fc1, its bias, norm's three, then fc2
    }
}

TEST_CASE("a trainer follows the pipeline and the messages of a strategy that is a type") {
    using piped = ts::strategy_of<small, 2, 8, ts::stages_from<fc1, fc2>, ts::micro_batches<4>, ts::pipeline<ts::gpipe>,
                                  ts::others<ts::uneven>, ts::statistics<ts::statistics_over::mini_batch>,
                                  ts::synchronize<ts::buckets<>>, ts::overlap>;
    const ts::graph g = ts::describe<small>(8);
    const test_support::batch_data data(g.view(), 5);
    const ts::optimizer how = ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F};
    const test_support::oracle expected(g.view(), data, how, 3, 42);
    plain_trainer<small> trainer(ts::local_devices(2), piped{}, how, {.seed = 42});
    for (double loss : expected.losses) {
        CHECK(trainer.step(samples{data.numbers[0], data.labels[1], 8}) == doctest::Approx(loss).epsilon(1e-5));
    }
    CHECK(trainer.training_plan().micro_batches == 4);
}

TEST_CASE("an evaluation weighs a short last batch by its samples") {
    plain_trainer<small> trainer(ts::local_devices(2), halves{}, ts::sgd{.learning_rate = 0.05F});
    const samples all = make_samples(19, 5, 3, 9);
    trainer.step(cut(all, 8)[0]);
    const ts::scores together = trainer.evaluate(cut(all, 8)); // 8, 8 and 3
    double loss = 0;
    ts::index_t correct = 0;
    for (const samples& one : cut(all, 1)) {
        const ts::scores s = trainer.evaluate(one);
        loss += s.loss / 19;
        correct += s.correct;
    }
    CHECK(together.samples == 19);
    CHECK(together.rows == 19);
    CHECK(together.loss == doctest::Approx(loss).epsilon(1e-6));
    CHECK(together.correct == correct);
    CHECK(together.accuracy == doctest::Approx(static_cast<double>(correct) / 19));
    CHECK(trainer.steps() == 1); // an evaluation is no step
    CHECK(contains(message_of([&] { trainer.evaluate(std::vector<samples>{}); }), "no batches"));
}

TEST_CASE("a short batch in training gives the loss of its samples alone") {
    const samples all = make_samples(5, 5, 3, 3);
    plain_trainer<small> wide(ts::local_devices(2), halves{}, ts::sgd{});
    plain_trainer<small> narrow(ts::local_devices(1), ts::strategy(ts::describe<small>(5).view()), 5, ts::sgd{});
    CHECK(wide.step(all) == doctest::Approx(narrow.step(all)).epsilon(1e-5));
}

TEST_CASE("schedules follow their formulas") {
    CHECK(ts::constant_rate{0.25}(1000) == 0.25);
    const ts::step_decay steps{.rate = 0.8, .factor = 0.5, .every = 10};
    CHECK(steps(0) == 0.8);
    CHECK(steps(9) == 0.8);
    CHECK(steps(10) == doctest::Approx(0.4));
    CHECK(steps(35) == doctest::Approx(0.1));
    const ts::cosine_decay cosine{.rate = 1.0, .steps = 110, .warm_up = 10, .last = 0.2};
    CHECK(cosine(0) == doctest::Approx(0.1));
    CHECK(cosine(9) == doctest::Approx(1.0));
    CHECK(cosine(10) == doctest::Approx(1.0));
    CHECK(cosine(60) == doctest::Approx(0.6));
    CHECK(cosine(35) == doctest::Approx(0.2 + 0.4 * (1 + std::sqrt(0.5))));
    CHECK(cosine(110) == 0.2);
    CHECK(cosine(100000) == 0.2);
    CHECK_THROWS_AS((ts::cosine_decay{.rate = 1, .steps = 5, .warm_up = 5}(0)), ts::error);
    CHECK_THROWS_AS((ts::step_decay{.rate = 1, .factor = 1, .every = 0}(0)), ts::error);
}

TEST_CASE("schedules compose: a warm-up before any other, one after the other") {
    const ts::polynomial_decay square{.rate = 1, .steps = 10, .power = 2, .last = 0.2};
    CHECK(square(0) == 1);
    CHECK(square(5) == doctest::Approx(0.2 + 0.8 * 0.25));
    CHECK(square(10) == 0.2);
    CHECK(square(1000) == 0.2);
    CHECK_THROWS_AS((ts::polynomial_decay{.rate = 1, .steps = 0}(0)), ts::error);
    CHECK_THROWS_AS((ts::polynomial_decay{.rate = 1, .steps = 9, .power = 0}(0)), ts::error);
    const ts::step_decay falls{.rate = 0.8, .factor = 0.5, .every = 10};
    ts::warm_up warmed{4, falls};
    CHECK(warmed(0) == doctest::Approx(0.2));
    CHECK(warmed(3) == doctest::Approx(0.8));
    CHECK(warmed(4) == falls(0));
    CHECK(warmed(13) == falls(9));
    CHECK(warmed(14) == falls(10));
    ts::warm_up from_half{2, ts::constant_rate{1}, 0.5};
    CHECK(from_half(0) == doctest::Approx(0.75));
    CHECK(from_half(1) == doctest::Approx(1));
    // the cosine's own warm-up is this one
    const ts::cosine_decay whole{.rate = 1.0, .steps = 110, .warm_up = 10, .last = 0.2};
    ts::warm_up composed{10, ts::cosine_decay{.rate = 1.0, .steps = 100, .last = 0.2}};
    for (std::uint64_t step = 0; step < 120; ++step) {
        CHECK(composed(step) == doctest::Approx(whole(step)).epsilon(1e-14));
    }
    ts::sequential_rates both{5, ts::constant_rate{0.5}, ts::warm_up{2, square}};
    CHECK(both(4) == 0.5);
    CHECK(both(5) == doctest::Approx(0.5));
    CHECK(both(7) == square(0));
    CHECK(both(12) == square(5));
    ts::warm_up none{0, falls};
    CHECK(none(0) == falls(0));
}

TEST_CASE("the rate of a step comes from the schedule") {
    const samples batch = make_samples(8, 5, 3, 1);
    plain_trainer<small> trainer(ts::local_devices(1), ts::strategy(ts::describe<small>(8).view()), 8,
                                 ts::sgd{.learning_rate = 0.5F});
    // Every second step has a rate of 0 and moves nothing.
    trainer.set_learning_rate([](std::uint64_t step) { return step % 2 == 0 ? 0.0 : 0.3; });
    const std::vector<float> start = trainer.weights<fc1>();
    trainer.step(batch);
    CHECK(trainer.weights<fc1>() == start);
    trainer.step(batch);
    CHECK(trainer.learning_rate() == 0.3);
    const std::vector<float> moved = trainer.weights<fc1>();
    CHECK(moved != start);
    trainer.set_learning_rate(0.0);
    trainer.step(batch);
    CHECK(trainer.weights<fc1>() == moved);
    CHECK_THROWS_AS(trainer.set_learning_rate(-1.0), ts::error);
    trainer.set_learning_rate([](std::uint64_t) { return std::numeric_limits<double>::quiet_NaN(); });
    CHECK(contains(message_of([&] { trainer.step(batch); }), "a learning rate of"));
}

TEST_CASE("parameters are found by their layer") {
    plain_trainer<repeated> trainer(ts::local_devices(1), ts::strategy(ts::describe<repeated>(4).view()), 4, ts::sgd{});
    CHECK(trainer.weights<cell>() == trainer.values().parameter(0));
    CHECK(trainer.weights<ts::instance<cell, 1>>() == trainer.values().parameter(2));
    CHECK(trainer.weights<cell>() != trainer.weights<ts::instance<cell, 1>>());
    CHECK(trainer.bias<ts::instance<cell, 1>>() == trainer.values().parameter(3));
    CHECK(trainer.weights_shape<cell>() == ts::make_shape(4, 4));
    const std::vector<float> chosen(16, 0.5F);
    trainer.set_weights<ts::instance<cell, 1>>(chosen);
    CHECK(trainer.values().parameter(2) == chosen);
    trainer.set_bias<cell>(std::vector<float>{1, 2, 3, 4});
    CHECK(trainer.bias<cell>() == std::vector<float>{1, 2, 3, 4});
    CHECK_THROWS_AS(trainer.set_bias<cell>(std::vector<float>(5)), ts::error);
}

TEST_CASE("inputs with names go where their names say, in any order") {
    const ts::graph g = ts::describe<two_inputs>(4);
    const test_support::batch_data data(g.view(), 8);
    const ts::optimizer how = ts::sgd{.learning_rate = 0.1F};
    const test_support::oracle expected(g.view(), data, how, 2, 1);
    plain_trainer<two_inputs> trainer(ts::local_devices(1), ts::strategy(g.view()), 4, how);
    const ts::feed<truth> labels(std::span<const std::int32_t>(data.labels[0]));
    const ts::feed<left> x(std::span<const float>(data.numbers[1]));
    const ts::feed<right> y(std::span<const float>(data.numbers[2]));
    CHECK(trainer.step(y, labels, x) == doctest::Approx(expected.losses[0]).epsilon(1e-5));
    CHECK(trainer.step(ts::named_batch(x, y, labels)) == doctest::Approx(expected.losses[1]).epsilon(1e-5));
    const ts::scores s = trainer.evaluate(std::vector{ts::named_batch(labels, x, y), ts::named_batch(labels, x, y)});
    CHECK(s.samples == 8);
    CHECK(s.loss == doctest::Approx(trainer.evaluate(ts::named_batch(labels, x, y)).loss));
    const ts::feed<left> integers(std::span<const std::int32_t>(data.labels[0]));
    CHECK(contains(message_of([&] { trainer.step(integers, y, labels); }), "the input left takes numbers"));
    const samples unnamed = make_samples(4, 5, 3, 1);
    CHECK(contains(message_of([&] { trainer.step(unnamed); }), "the network has 3 inputs"));
}

TEST_CASE("wrong devices, batches and strategies are refused") {
    CHECK(contains(message_of([] { ts::local_devices(0); }), "there must be at least one device"));
    CHECK(contains(message_of([] { ts::local_devices(-3); }), "-3 devices"));
    CHECK(contains(message_of([] { ts::local_devices(100000); }), "at most 256"));
    CHECK(ts::local_devices(3).count() == 3);
    const auto make = [](int devices) { plain_trainer<small> t(ts::local_devices(devices), halves{}, ts::sgd{}); };
    CHECK(contains(message_of([&] { make(1); }), "made for 2 devices and there are 1"));
    CHECK(contains(message_of([&] { make(3); }), "made for 2 devices and there are 3"));
    const ts::strategy whole(ts::describe<small>(8).view());
    CHECK(contains(message_of([&] { plain_trainer<small> t(ts::local_devices(1), whole, 0, ts::sgd{}); }),
                   "the batch must have at least one sample"));
    CHECK(contains(message_of([&] { plain_trainer<small> t(ts::local_devices(1), ts::strategy(), 8, ts::sgd{}); }),
                   "one configuration for every operator"));
    CHECK(contains(
        message_of([&] { plain_trainer<small> t(ts::local_devices(2), halves{}, ts::sgd{}, {.device_memory = 100}); }),
        "bytes"));
    CHECK_THROWS_AS(plain_trainer<small>(ts::local_devices(2), halves{}, ts::sgd{.learning_rate = -0.1F}), ts::error);

    plain_trainer<small> trainer(ts::local_devices(2), halves{}, ts::sgd{});
    CHECK_THROWS_AS(trainer.step(make_samples(9, 5, 3, 1)), ts::error); // more than the strategy's batch
    CHECK_THROWS_AS(trainer.step(make_samples(8, 4, 3, 1)), ts::error);
    CHECK_THROWS_AS(trainer.step(make_samples(8, 5, 7, 1)), ts::error); // labels beyond the classes
    samples uneven = make_samples(8, 5, 3, 1);
    uneven.size = 7;
    CHECK_THROWS_AS(trainer.step(uneven), ts::error);
    CHECK(trainer.steps() == 0);
}

TEST_CASE("a loss that is not a number stops the training") {
    plain_trainer<small> trainer(ts::local_devices(2), halves{}, ts::sgd{});
    samples batch = make_samples(8, 5, 3, 1);
    batch.inputs[7] = std::numeric_limits<float>::quiet_NaN();
    CHECK(contains(message_of([&] { trainer.step(batch); }), "not a finite number"));
}

} // namespace
