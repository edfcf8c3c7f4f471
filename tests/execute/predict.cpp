// SPDX-License-Identifier: Apache-2.0
// Predictions: the forward pass of an evaluation without labels, of any tensor, any number of samples, under any
// strategy.
#include "support/networks.hpp"
#include "support/planned.hpp"
#include "support/random_strategy.hpp"
#include "support/refusal.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/schedule/gpipe.hpp"
#include "tessera/schedule/zero.hpp"
#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

#include <cmath>

namespace {

namespace ts = tessera;
using test_support::contains;
using test_support::message_of;

struct conv1 : ts::conv2d<6, ts::window<3>, ts::padding<1>> {};
struct norm : ts::batch_norm<> {};
struct fc1 : ts::linear<12> {};
struct fc2 : ts::linear<4> {};
struct net : ts::sequential<ts::image<3, 6, 6>, conv1, norm, ts::relu, ts::flatten, fc1, ts::relu, ts::dropout<30>, fc2,
                            ts::cross_entropy> {};
constexpr int samples = 8;

struct data {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    int size = 0;
};
data some(int count) {
    data d;
    d.size = count;
    for (int i = 0; i < count * 108; ++i) {
        d.inputs.push_back(
            static_cast<float>(static_cast<int>(ts::op::mix(static_cast<std::uint64_t>(i)) % 200) - 100) / 50);
    }
    for (int i = 0; i < count; ++i) {
        d.labels.push_back(i % 4);
    }
    return d;
}

template <class B>
using trainer_of = ts::trainer<net, B>;

/// The loss that an evaluation would have, from logits.
double loss_of(const ts::prediction& logits, const std::vector<std::int32_t>& labels) {
    double loss = 0;
    const auto classes = ts::to_size(logits.extents[1]);
    for (std::size_t n = 0; n < labels.size(); ++n) {
        double sum = 0;
        for (std::size_t c = 0; c < classes; ++c) {
            sum += std::exp(static_cast<double>(logits.values[n * classes + c]));
        }
        loss += std::log(sum) - static_cast<double>(logits.values[n * classes + ts::to_size(labels[n])]);
    }
    return loss / static_cast<double>(labels.size());
}

template <class B>
void hold(const ts::strategy& s) {
    trainer_of<B> t(ts::local_devices(4), s, samples, ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F});
    const data batch = some(samples);
    t.step(batch); // running statistics that are not those at the start
    t.step(batch);
    const ts::prediction logits = t.predict(batch);
    CHECK(logits.extents == ts::make_shape(samples, 4));
    CHECK(loss_of(logits, batch.labels) == doctest::Approx(t.evaluate(batch).loss).epsilon(1e-5));

    // More and fewer samples than planned: those of a sample do not depend on what else is in its batch.
    const data more = some(3 * samples + 5);
    const ts::prediction all = t.predict(more);
    REQUIRE(all.extents == ts::make_shape(3 * samples + 5, 4));
    REQUIRE(all.values.size() == ts::to_size(3 * samples + 5) * 4);
    for (int n = 0; n < 3 * samples + 5; n += 4) {
        data one;
        one.inputs.assign(more.inputs.begin() + n * 108, more.inputs.begin() + (n + 1) * 108);
        one.size = 1;
        const ts::prediction single = t.predict(one);
        for (std::size_t c = 0; c < 4; ++c) {
            CHECK(single.values[c] == doctest::Approx(all.values[ts::to_size(n) * 4 + c]).epsilon(1e-4));
        }
    }

    // Any tensor: fc2 of what predict<fc1> and relu say is what fc2 says.
    const ts::prediction hidden = t.template predict<fc1>(batch);
    CHECK(hidden.extents == ts::make_shape(samples, 12));
    const std::vector<float> w = t.template weights<fc2>();
    const std::vector<float> b = t.template bias<fc2>();
    for (std::size_t n = 0; n < samples; ++n) {
        for (std::size_t c = 0; c < 4; ++c) {
            double y = static_cast<double>(b[c]);
            for (std::size_t k = 0; k < 12; ++k) {
                y += std::max(0.0, static_cast<double>(hidden.values[n * 12 + k])) * static_cast<double>(w[c * 12 + k]);
            }
            CHECK(static_cast<double>(logits.values[n * 4 + c]) == doctest::Approx(y).epsilon(1e-4));
        }
    }
    const double before = t.evaluate(batch).loss;
    t.predict(more);
    CHECK(t.evaluate(batch).loss == before); // a prediction changes nothing
    CHECK(t.steps() == 2);
}

std::vector<ts::strategy> strategies() {
    const ts::graph g = ts::describe<net>(samples);
    std::vector<ts::strategy> all{ts::strategy(g.view()), test_support::data_parallel(g.view(), 4)};
    test_support::coverage seen;
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
        all.push_back(test_support::random_strategy(g.view(), 4, seed, seen));
    }
    all.push_back(test_support::data_parallel(g.view(), 4));
    all.back().sync = ts::schedule::zero(ts::schedule::gradients_of(g.view()), 3); // parameters in slices
    ts::strategy piped(g.view());                                                  // the loss alone in the last stage
    for (int op = 0; op < g.view().op_count; ++op) {
        const int stage = op < 3 ? 0 : g.view().is_loss(op) ? 2 : 1;
        piped.ops[ts::to_size(op)].stage = stage;
        piped.ops[ts::to_size(op)].start = stage;
    }
    piped.follow(ts::schedule::gpipe(3, 2));
    all.push_back(piped);
    return all;
}

} // namespace

TEST_CASE("predictions are what goes into the loss of an evaluation") {
    for (const ts::strategy& s : strategies()) {
        hold<ts::reference::backend>(s);
#ifdef TESSERA_TEST_HOST
        hold<ts::host::backend>(s);
#endif
    }
}

TEST_CASE("without training there is no state, no plan for training, and predictions are the same") {
    const ts::strategy s = strategies()[1];
    const ts::adam moments{};
    trainer_of<ts::reference::backend> trained(ts::local_devices(4), s, samples, moments);
    const data batch = some(samples);
    trained.step(batch);
    trainer_of<ts::reference::backend> t(ts::local_devices(4), s, samples, moments, {.for_training = false});
    const ts::graph_view g = t.graph();
    ts::index_t parameters = 0;
    for (int p = 0; p < g.parameter_count; ++p) {
        t.values().set_parameter(p, trained.values().parameter(p));
        parameters += g.parameters[p].extents.volume() * 4;
    }
    CHECK(t.predict(batch).values == trained.predict(batch).values);
    CHECK(t.evaluate(batch).loss == trained.evaluate(batch).loss);
    for (std::size_t d = 0; d < 4; ++d) {
        const ts::plan& p = t.training_plan();
        const ts::plan& whole = trained.training_plan();
        CHECK(2 * p.persistent_bytes[d] < 3 * parameters);      // rounded up to cache lines
        CHECK(2 * whole.persistent_bytes[d] >= 3 * parameters); // two moments of a quarter
        CHECK(p.arena_bytes[d] < whole.arena_bytes[d]);
    }
    CHECK(contains(message_of([&] { t.step(batch); }), "made for predictions alone"));
}

TEST_CASE("inputs that do not fit are refused") {
    trainer_of<ts::reference::backend> t(ts::local_devices(1), strategies()[0], samples, ts::sgd{});
    data odd = some(2);
    odd.inputs.pop_back();
    CHECK(contains(message_of([&] { t.predict(odd); }), "no whole number of samples"));
    CHECK(contains(message_of([&] { t.values().predict({}, {3}); }), "lacks the input"));
    CHECK(contains(message_of([&] { t.values().predict({}, {0}); }), "no operator of the network makes it"));
    CHECK(contains(message_of([&] { t.values().predict({}, {}); }), "say which tensors are wanted"));
}
