// SPDX-License-Identifier: Apache-2.0
// predict() and evaluate() take what step() takes: batches, feeds by name in any order, lists of inputs, all or those
// that are needed. And the words of what does not fit.
#include "support/refusal.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/predictor.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/io/files/checkpoint.hpp"
#include "tessera/net/dag.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>

namespace {

namespace ts = tessera;
using test_support::contains;
using test_support::message_of;

struct left;
struct right;
struct truth;
struct wide : ts::linear<5> {};
struct a;
struct b;
struct both;
struct fc;
struct loss;
struct net : ts::dag<ts::input<left, ts::features<4>>, ts::input<right, ts::features<3>>, ts::input<truth, ts::labels>,
                     ts::node<a, ts::linear<5>, left>, ts::node<b, wide, right>, ts::node<both, ts::add, a, b>,
                     ts::node<fc, ts::linear<3>, both>, ts::node<loss, ts::cross_entropy, fc, truth>> {};
constexpr int samples = 4;
using trainer = ts::trainer<net, ts::reference::backend>;

const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7};
const std::vector<float> y{1, -2, 3, -4, 5, -6, 7, -8, 9, 1, -2, 3};
const std::vector<std::int32_t> z{0, 1, 2, 1};

struct front;
struct middle;
struct back;
struct squashed : ts::linear<5> {};
struct named : ts::dag<ts::input<left, ts::features<4>>, ts::input<truth, ts::labels>,
                       ts::chain<front, left, wide, ts::save<middle>, ts::tanh>,
                       ts::chain<back, front, squashed, ts::relu, ts::shared<squashed>>,
                       ts::node<loss, ts::cross_entropy, back, truth>> {};

struct norm1 : ts::batch_norm<> {};
struct norm2 : ts::batch_norm<> {};
struct tied_norms
    : ts::sequential<ts::features<64>, norm1, ts::relu, ts::tied<norm2, norm1>, ts::linear<2>, ts::cross_entropy> {};

struct one : ts::linear<2> {};
struct plain : ts::sequential<ts::features<64>, one, ts::cross_entropy> {};

} // namespace

TEST_CASE("feeds, named batches and lists of inputs: one answer, whatever the order and whether labels are there") {
    trainer t(ts::local_devices(1), ts::strategy(ts::describe<net>(samples).view()), samples, ts::sgd{});
    const ts::feed<left> l(x);
    const ts::feed<right> r(y);
    const ts::feed<truth> c(z);
    const std::vector<ts::input_data> all{std::span<const float>(x), std::span<const float>(y),
                                          std::span<const std::int32_t>(z)};
    const std::vector<ts::input_data> needed{all[0], all[1]};
    t.step(l, r, c);
    const std::vector<float> logits = t.predict(l, r).values;
    CHECK(logits.size() == 12);
    CHECK(t.predict(r, l).values == logits);
    CHECK(t.predict(c, r, l).values == logits);
    CHECK(t.predict(ts::named_batch(l, r, c)).values == logits);
    CHECK(t.predict(all).values == logits);
    CHECK(t.predict(needed).values == logits);
    CHECK(t.predict(std::span<const ts::input_data>(all)).values == logits);
    const std::vector<float> hidden = t.predict<b>(r).values; // which needs one input alone
    CHECK(hidden.size() == 20);
    CHECK(t.predict<b>(l, r, c).values == hidden);
    CHECK(t.predict<b>(all).values == hidden);
    const ts::scores s = t.evaluate(l, r, c);
    CHECK(s.samples == samples);
    CHECK(t.evaluate(c, l, r).loss == s.loss);
    CHECK(t.evaluate(ts::named_batch(l, r, c)).loss == s.loss);
    CHECK(t.evaluate(all).loss == s.loss);
    CHECK(t.evaluate(std::vector<std::vector<ts::input_data>>{all, all}).samples == 2 * samples);
    // The loss is that of the logits.
    double sum = 0;
    for (std::size_t n = 0; n < samples; ++n) {
        double powers = 0;
        for (std::size_t k = 0; k < 3; ++k) {
            powers += std::exp(static_cast<double>(logits[3 * n + k]));
        }
        sum += std::log(powers) - static_cast<double>(logits[3 * n + ts::to_size(z[n])]);
    }
    CHECK(s.loss == doctest::Approx(sum / samples).epsilon(1e-5));
    CHECK(contains(message_of([&] { t.predict(ts::feed<left>(z), r); }),
                   "the input left takes numbers and is given integers"));
}

TEST_CASE("predict gives what chains and saved tensors are called by") {
    ts::trainer<named, ts::reference::backend> t(ts::local_devices(1),
                                                 ts::strategy(ts::describe<named>(samples).view()), samples, ts::sgd{});
    const ts::feed<left> l(x);
    const std::vector<float> ends = t.predict<back>(l).values;
    CHECK(ends == t.predict(l).values); // what goes into the loss
    CHECK(ends == t.predict<ts::instance<squashed, 1>>(l).values);
    const std::vector<float> squeezed = t.predict<front>(l).values;
    CHECK(squeezed == t.predict<ts::tanh>(l).values);
    CHECK(squeezed != ends);
    const std::vector<float> seen = t.predict<middle>(l).values;
    CHECK(seen == t.predict<wide>(l).values);
    CHECK(seen != squeezed);
    ts::predictor server(t);
    CHECK(server.predict<front>(l).values == squeezed);
    CHECK(server.predict<middle>(l).values == seen);
}

TEST_CASE("running statistics follow one batch norm in a training, and may be shared without one") {
    const ts::strategy alone(ts::describe<tied_norms>(samples).view());
    using shared_trainer = ts::trainer<tied_norms, ts::reference::backend>;
    const std::string said = message_of([&] { shared_trainer(ts::local_devices(1), alone, samples, ts::sgd{}); });
    CHECK_MESSAGE(
        contains(said, "norm2 shares the running statistics of norm1, and in a training they follow one operator"),
        said);
    shared_trainer still(ts::local_devices(1), alone, samples, ts::sgd{}, {.for_training = false});
    CHECK(still.predict(ts::feed<ts::features<64>>(std::vector<float>(64 * samples, 0.5F))).values.size() ==
          2 * samples);
}

TEST_CASE("sizes say what was expected, and parameters by which layer they are of") {
    ts::trainer<plain, ts::reference::backend> t(ts::local_devices(1),
                                                 ts::strategy(ts::describe<plain>(samples).view()), samples, ts::sgd{});
    struct batch {
        std::vector<float> inputs;
        std::vector<std::int32_t> labels;
        int size;
    };
    const std::string said = message_of([&] { t.step(batch{std::vector<float>(128), {1}, 1}); });
    CHECK_MESSAGE(contains(said, "has 128 elements for the input, 64 expected"), said);
    const std::string set = message_of([&] { t.set_weights<one>(std::vector<float>(64)); });
    CHECK_MESSAGE(contains(set, "one/weight is given 64 elements, 128 expected: its shape is [2, 64]"), set);
    CHECK(contains(message_of([&] { t.set_bias<one>(std::vector<float>(3)); }),
                   "one/bias is given 3 elements, 2 expected"));
}

TEST_CASE("parameters that an earlier step has spoiled are named as the cause") {
    trainer t(ts::local_devices(1), ts::strategy(ts::describe<net>(samples).view()), samples,
              ts::sgd{.learning_rate = 1e30F});
    const std::string said = message_of([&] {
        for (int i = 0; i < 3; ++i) {
            t.step(ts::feed<left>(x), ts::feed<right>(y), ts::feed<truth>(z));
        }
    });
    CHECK_MESSAGE(contains(said, "has become as large as "), said);
    CHECK_MESSAGE(contains(said, " in an earlier step, so that the loss overflows"), said);
    CHECK_MESSAGE(contains(said, "parameter "), said);
    // Large inputs are not the parameters' fault.
    trainer sane(ts::local_devices(1), ts::strategy(ts::describe<net>(samples).view()), samples, ts::sgd{});
    sane.set_weights<b>(std::vector<float>(15, 100.0F));
    const std::string other = message_of(
        [&] { sane.step(ts::feed<left>(x), ts::feed<right>(std::vector<float>(12, 3e38F)), ts::feed<truth>(z)); });
    CHECK_MESSAGE(contains(other, "inputs and parameters are finite"), other);
}

TEST_CASE("a trainer that does not train takes the weights of any optimizer's checkpoint, or their averages") {
    char name[] = "/tmp/tessera-any-XXXXXX";
    const std::string folder = ::mkdtemp(name);
    const ts::strategy s(ts::describe<net>(samples).view());
    const ts::optimizer all[] = {ts::sgd{}, ts::sgd{.momentum = 0.9F}, ts::adam{},
                                 ts::optimizer(ts::adamw{}).averaging(0.5F),
                                 ts::rmsprop{.momentum = 0.9F, .centered = true}};
    for (const ts::optimizer& how : all) {
        trainer t(ts::local_devices(1), s, samples, how);
        t.step(ts::feed<left>(x), ts::feed<right>(y), ts::feed<truth>(z));
        t.step(ts::feed<left>(x), ts::feed<right>(y), ts::feed<truth>(z));
        ts::io::save_checkpoint(t, folder + "/saved");
        trainer still(ts::local_devices(1), s, samples, ts::sgd{}, {.for_training = false});
        CHECK(ts::io::load_checkpoint(still, folder + "/saved").step == 2);
        CHECK(still.weights<b>() == t.weights<b>());
        CHECK(still.predict(ts::feed<left>(x), ts::feed<right>(y)).values ==
              t.predict(ts::feed<left>(x), ts::feed<right>(y)).values);
        const std::string said =
            message_of([&] { ts::io::load_checkpoint(still, folder + "/saved", {.averages = true}); });
        if (how.average != 0) {
            const std::vector<float> weights = still.weights<b>();
            t.use_ema(true);
            CHECK(said == "accepted");
            CHECK(weights == t.weights<b>());
            CHECK(weights != std::vector<float>(15, 0.0F));
            t.use_ema(false);
            CHECK(weights != t.weights<b>());
        } else {
            CHECK(contains(said, "has no averages"));
        }
        CHECK(contains(message_of([&] { ts::io::load_checkpoint(t, folder + "/saved", {.averages = true}); }),
                       "use_ema(true)"));
    }
    std::filesystem::remove_all(folder);
}
