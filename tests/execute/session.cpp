// SPDX-License-Identifier: Apache-2.0
// A session on the reference backend: short batches, evaluation, and what it refuses.
#include "support/networks.hpp"
#include "support/random_pipeline.hpp"
#include "support/refusal.hpp"
#include "support/same_numbers.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;
using test_support::contains;
using test_support::message_of;
using namespace test_support;

using reference_session = ts::session<ts::reference::backend>;

/// A session with what it stands on.
struct running {
    ts::graph network;
    ts::reference::backend backend;
    ts::workers threads;
    reference_session session;

    running(const ts::graph& g, const ts::strategy& s, int devices, const ts::optimizer& update,
            ts::session_options options = {})
        : network(g), backend(update), threads(devices),
          session(network.view(), s, devices, update, options, backend, threads) {}
};

/// Largest relative difference of the parameters, and whether equal regions on different devices hold equal bits.
double distance(const reference_session& session, const ts::reference::network& oracle, bool& equal) {
    double worst = 0;
    for (std::size_t p = 0; p < oracle.parameters.size(); ++p) {
        const std::vector<float> f = session.parameter(static_cast<int>(p));
        worst = std::max(worst, relative(std::vector<double>(f.begin(), f.end()), oracle.parameters[p], 1e-3));
        const auto copies = session.parameter_copies(static_cast<int>(p));
        for (const auto& a : copies) {
            for (const auto& b : copies) {
                equal = equal && (!(a.first == b.first) || a.second == b.second);
            }
        }
    }
    return worst;
}

} // namespace

TEST_CASE("short batches train and evaluations evaluate as one device does, between full steps") {
    const ts::optimizer how(ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F});
    coverage seen;
    const std::vector<std::pair<ts::graph, int>> networks{{ts::describe<test_networks::residual_net::network>(6), 6},
                                                          {ts::describe<test_networks::mlp::network>(7), 7},
                                                          {ts::describe<test_networks::two_losses::network>(6), 6},
                                                          {ts::describe<test_networks::frozen_net::network>(5), 5}};
    for (std::uint64_t seed = 0; seed < 16; ++seed) {
        const auto& [network, batch] = networks[seed % networks.size()];
        const int devices = 1 + static_cast<int>(seed / 2 % 5);
        // Every other one with micro-batches, of which a short batch may leave some without samples.
        const ts::strategy s = seed % 8 < 4 ? random_strategy(network.view(), devices, 500 + seed, seen)
                                            : random_pipeline(network.view(), devices, 500 + seed, seen).how;
        running r(network, s, devices, how, {.seed = 3});
        ts::run_state run;
        run.seed = 3;
        run.learning_rate = static_cast<double>(how.learning_rate);
        // The oracle of another batch size goes on with the parameters and the momentum of the one before: no momentum
        // is lost in the session either. (The oracle's momentum is private, so plans of one size alone are compared
        // after that.)
        std::vector<std::vector<double>> parameters;
        bool equal = true;
        for (const int size : {batch, 1, batch - 2}) {
            const ts::graph g = ts::with_batch(network.view(), size);
            const batch_data data(g.view(), 40 + seed);
            running fresh(network, s, devices, ts::optimizer(ts::sgd{.learning_rate = 0.05F}), {.seed = 3});
            ts::reference::network oracle(g.view());
            oracle.initialize(3);
            oracle.micro_batches = s.micro_batches;
            for (int i = 0; i < 2; ++i) {
                CAPTURE(seed);
                CAPTURE(size);
                set_all(oracle, data);
                run.step = static_cast<std::uint64_t>(i);
                const double expected = oracle.train_step(run, ts::optimizer(ts::sgd{.learning_rate = 0.05F}));
                CHECK(fresh.session.step(data.inputs) == doctest::Approx(expected).epsilon(1e-5));
                CHECK(distance(fresh.session, oracle, equal) < 1e-4);
                // Running statistics, no dropout; and an evaluation changes nothing.
                set_all(oracle, data);
                const double loss = oracle.evaluate();
                const ts::evaluation e = fresh.session.evaluate(data.inputs);
                CHECK(e.loss == doctest::Approx(loss).epsilon(1e-5));
                CHECK(distance(fresh.session, oracle, equal) < 1e-4);
                const ts::op_node* first = nullptr;
                for (const ts::op_node& o : g.ops) {
                    first = first == nullptr && o.attributes.kind == ts::op_kind::cross_entropy ? &o : first;
                }
                const auto& logits = oracle.values[ts::to_size(first->inputs[0])];
                const auto& labels = oracle.labels[ts::to_size(first->inputs[1])];
                const std::size_t classes = logits.size() / labels.size();
                ts::index_t correct = 0;
                for (std::size_t n = 0; n < labels.size(); ++n) {
                    const auto row = logits.begin() + static_cast<std::ptrdiff_t>(n * classes);
                    const auto best = std::max_element(row, row + static_cast<std::ptrdiff_t>(classes)) - row;
                    correct += best == labels[n] ? 1 : 0;
                }
                CHECK(e.rows == static_cast<ts::index_t>(labels.size()));
                CHECK(e.correct == correct);
            }
            CHECK(equal);
            CHECK(std::isfinite(r.session.step(data.inputs))); // one session for all sizes
        }
        CHECK(r.session.steps() == 3);
    }
}

TEST_CASE("momentum outlives a change of the batch's size") {
    // Two samples that are equal to a batch of one: the same mean gradients, so the same numbers.
    struct fc : ts::linear<3> {};
    using network = ts::sequential<ts::features<4>, fc, ts::cross_entropy>;
    const ts::optimizer how(ts::sgd{.learning_rate = 0.1F, .momentum = 0.9F});
    const ts::graph g = ts::describe<network>(2);
    ts::strategy s(g.view());
    s.ops[0].degree[0] = s.ops[1].degree[0] = 2;
    running both(g, s, 2, how);
    running mixed(g, s, 2, how);
    const std::vector<float> two{1, 2, -1, 0.5F, 1, 2, -1, 0.5F};
    const std::vector<std::int32_t> labels{2, 2};
    for (int i = 0; i < 4; ++i) {
        const std::size_t n = i % 2 == 0 ? 2 : 1;
        const std::vector<ts::input_data> full{std::span<const float>(two), std::span<const std::int32_t>(labels)};
        const std::vector<ts::input_data> some{std::span<const float>(two.data(), 4 * n),
                                               std::span<const std::int32_t>(labels.data(), n)};
        CHECK(mixed.session.step(some) == doctest::Approx(both.session.step(full)).epsilon(1e-5));
    }
}

TEST_CASE("a loss that is not a number is an error") {
    const ts::graph g = ts::describe<test_networks::mlp::network>(4);
    running r(g, ts::strategy(g.view()), 1, ts::optimizer());
    batch_data data(g.view(), 1);
    data.numbers[0][3] = std::numeric_limits<float>::quiet_NaN();
    const std::string text = message_of([&] { r.session.step(data.inputs); });
    CHECK(contains(text, "the loss of step 1 is not a finite number"));
    CHECK(contains(text, "is not finite in sample 0"));
}

TEST_CASE("wrong inputs are refused, and a refused batch does no harm") {
    const ts::graph g = ts::describe<test_networks::mlp::network>(4);
    running r(g, ts::strategy(g.view()), 1, ts::optimizer());
    const batch_data data(g.view(), 1);
    const std::vector<float> before = r.session.parameter(0);
    const auto refused = [&](std::vector<ts::input_data> inputs) {
        return message_of([&] { r.session.step(inputs); });
    };
    CHECK(refused({}).find("the batch lacks the input") != std::string::npos);
    CHECK(contains(refused({data.inputs[0]}), "the batch lacks the input"));
    CHECK(contains(refused({data.inputs[0], data.inputs[1], data.inputs[1]}),
                   "the batch has 3 inputs and the network 2"));
    const std::vector<float> longer(5 * 20, 0.5F);
    const std::vector<std::int32_t> five(5, 1);
    CHECK(contains(refused({std::span<const float>(longer), std::span<const std::int32_t>(five)}),
                   "planned for at most 4"));
    CHECK(contains(refused({data.inputs[0], std::span<const std::int32_t>(five.data(), 3)}),
                   "has 3 samples for the input"));
    CHECK(contains(refused({std::span<const float>(longer.data(), 70), std::span<const std::int32_t>(five.data(), 3)}),
                   "no whole number of samples"));
    CHECK(contains(refused({std::span<const float>(), std::span<const std::int32_t>()}), "the batch has no elements"));
    for (const std::int32_t wrong : {-1, 10}) {
        std::vector<std::int32_t> labels = data.labels[1];
        labels[2] = wrong;
        CHECK(
            contains(refused({data.inputs[0], std::span<const std::int32_t>(labels)}),
                     "label " + std::to_string(wrong) + " of sample 2 is not one of the 10 classes of cross_entropy"));
    }
    CHECK(r.session.parameter(0) == before);
    CHECK(r.session.steps() == 0);
    CHECK(std::isfinite(r.session.step(data.inputs)));
}

TEST_CASE("a session that cannot be is refused") {
    const ts::graph g = ts::describe<test_networks::mlp::network>(4);
    ts::strategy s(g.view());
    s.ops[0].degree[0] = 2;
    CHECK(contains(message_of([&] { running(g, s, 1, ts::optimizer()); }), "more shards than devices"));
    CHECK(contains(message_of([&] {
                       ts::reference::backend b;
                       ts::workers threads(1);
                       reference_session(g.view(), s, 2, ts::optimizer(), {}, b, threads);
                   }),
                   "wants 2 devices and there are 1"));
    const std::string text = message_of([&] { running(g, s, 2, ts::optimizer(), {.device_memory = 1000}); });
    CHECK(contains(text, "device 0 needs "));
    CHECK(contains(text, "and has 1000; split more, or use smaller batches"));
    CHECK(contains(message_of([&] { running(g, ts::strategy(), 1, ts::optimizer()); }),
                   "one configuration for every operator"));
    running fits(g, s, 2, ts::optimizer(), {.device_memory = 1 << 20});
    CHECK(fits.session.steps() == 0);
}

TEST_CASE("parameters are read and written whole, whatever their layout") {
    coverage seen;
    const ts::graph g = ts::describe<test_networks::residual_net::network>(4);
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
        running r(g, random_strategy(g.view(), 4, seed, seen), 4, ts::optimizer(), {.seed = 9});
        for (int p = 0; p < g.view().parameter_count; ++p) {
            std::vector<float> start(ts::to_size(g.parameters[ts::to_size(p)].extents.volume()));
            ts::initialize(g.view(), p, 9, start);
            CHECK(r.session.parameter(p) == start);
            std::vector<float> values(start.size());
            for (std::size_t i = 0; i < values.size(); ++i) {
                values[i] = static_cast<float>(i) + 0.5F;
            }
            r.session.set_parameter(p, values);
            CHECK(r.session.parameter(p) == values);
            values.pop_back();
            CHECK(contains(message_of([&] { r.session.set_parameter(p, values); }),
                           " elements, " + std::to_string(values.size() + 1) + " expected"));
        }
    }
}

TEST_CASE("the learning rate of a step is the session's at that time") {
    const ts::graph g = ts::describe<test_networks::mlp::network>(4);
    running r(g, ts::strategy(g.view()), 1, ts::optimizer(ts::sgd{.learning_rate = 0.5F}));
    CHECK(r.session.learning_rate() == doctest::Approx(0.5));
    const batch_data data(g.view(), 1);
    const std::vector<float> before = r.session.parameter(0);
    r.session.set_learning_rate(0);
    r.session.step(data.inputs);
    CHECK(r.session.parameter(0) == before);
    r.session.set_learning_rate(0.1);
    r.session.step(data.inputs);
    CHECK(r.session.parameter(0) != before);
}

TEST_CASE("parameters that do not exist, and gradients that are not kept, are refused in words") {
    const ts::graph g = ts::describe<test_networks::mlp::network>(4);
    running r(g, ts::strategy(g.view()), 1, ts::optimizer(ts::sgd{}));
    for (const int p : {-1, static_cast<int>(g.parameters.size()), 99}) {
        const std::vector<float> none;
        const std::string words = "there is no parameter " + std::to_string(p);
        CHECK(contains(message_of([&] { (void)r.session.parameter(p); }), words));
        CHECK(contains(message_of([&] { r.session.set_parameter(p, none); }), words));
        CHECK(contains(message_of([&] { (void)r.session.gradient(p); }), words));
    }
    CHECK(contains(message_of([&] { (void)r.session.gradient(0); }), "keep_gradients = true"));
    CHECK(contains(message_of([&] { running(g, ts::strategy(g.view()), 1, ts::optimizer(ts::sgd{.momentum = 5})); }),
                   "momentum is 5"));
}
