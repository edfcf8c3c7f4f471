// SPDX-License-Identifier: Apache-2.0
// Losses and updates that are not finite: they are noticed, a step without a loss changes nothing, and what is said
// names the cause.
#include "support/networks.hpp"
#include "support/policies.hpp"
#include "support/random_pipeline.hpp"
#include "support/refusal.hpp"
#include "support/same_numbers.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/search/pipeline.hpp"

#ifdef TESSERA_TEST_HOST
#include "tessera/host.hpp"
#endif

#include <doctest/doctest.h>

#include <chrono>
#include <deque>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace ts = tessera;
using namespace test_support;

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

/// A session with what it stands on.
template <class B>
struct running {
    ts::graph network;
    B backend;
    ts::workers threads;
    ts::session<B> session;

    running(const ts::graph& g, const ts::strategy& s, int devices, const ts::optimizer& update)
        : network(g), backend(update), threads(devices),
          session(network.view(), s, devices, update, {.seed = 3}, backend, threads) {}

    std::vector<std::vector<float>> parameters() const {
        std::vector<std::vector<float>> all;
        for (int p = 0; p < network.view().parameter_count; ++p) {
            all.push_back(session.parameter(p));
        }
        return all;
    }
};

template <class Body>
void on_every_backend(Body&& body) {
    body.template operator()<ts::reference::backend>();
#ifdef TESSERA_TEST_HOST
    body.template operator()<ts::host::backend>();
#endif
}

/// The batch with a number in the last sample of its first input.
batch_data with(batch_data data, const ts::graph_view& g, float number) {
    std::vector<float>& x = data.numbers[0];
    x[x.size() - ts::to_size(g.tensors[data.tensors[0]].extents.volume() / g.tensors[data.tensors[0]].extents[0])] =
        number;
    data.inputs[0] = std::span<const float>(x);
    return data;
}

/// A step on a bad batch is refused, and leaves nothing behind: the steps after it are those of a session that has
/// never seen it.
template <class B>
void hold_refused(const ts::graph& g, const ts::strategy& s, int devices, const ts::optimizer& update, float number) {
    const batch_data first(g.view(), 1);
    const batch_data bad = with(first, g.view(), number);
    const batch_data then(g.view(), 2);
    running<B> seen(g, s, devices, update);
    running<B> spared(g, s, devices, update);
    CHECK(seen.session.step(first.inputs) == spared.session.step(first.inputs));
    const std::string text = message_of([&] { seen.session.step(bad.inputs); });
    CAPTURE(text);
    CHECK(contains(text, "the loss of step 2 is not a finite number, and the step is not taken"));
    CHECK(contains(text, "is not finite in sample " + std::to_string(g.view().tensors[0].extents[0] - 1)));
    CHECK(seen.session.steps() == 1);
    CHECK(seen.parameters() == spared.parameters());
    for (int i = 0; i < 2; ++i) { // what the optimizer keeps, too
        CHECK(seen.session.step(then.inputs) == spared.session.step(then.inputs));
    }
    CHECK(seen.parameters() == spared.parameters());
    CHECK(contains(message_of([&] { seen.session.evaluate(bad.inputs); }),
                   "the loss of an evaluation is not a finite number"));
}

/// The reference backend with the losses of device 1 long after the other device could update.
struct late_losses : ts::reference::backend {
    using ts::reference::backend::backend;

    ts::runnable prepare(const ts::plan& p, int index, const ts::graph_view& g, const ts::addresses& where) {
        const ts::runnable whole = ts::reference::backend::prepare(p, index, g, where);
        const ts::task& t = p.tasks[ts::to_size(index)];
        if (t.kind() != ts::task_kind::compute || t.what != ts::pass::forward || !g.is_loss(t.op) || t.device != 1) {
            return whole;
        }
        late_.push_back(whole); // by the thread of that device alone
        return {[](void* job, const ts::run_state& run) {
                    std::this_thread::sleep_for(std::chrono::milliseconds(100));
                    const auto& then = *static_cast<ts::runnable*>(job);
                    then.call(then.context, run);
                },
                &late_.back()};
    }

private:
    std::deque<ts::runnable> late_;
};

const ts::optimizer momentum(ts::sgd{.learning_rate = 0.05F, .momentum = 0.9F});

struct fc : ts::linear<3> {};
struct one_layer : ts::sequential<ts::features<4>, fc, ts::cross_entropy> {};

} // namespace

TEST_CASE("a step whose loss is not finite changes nothing, through any activation and under any strategy") {
    namespace n = test_networks;
    const ts::optimizer adam(ts::adam{.learning_rate = 0.01F});
    const std::vector<ts::graph> networks{ts::describe<n::residual_net::network>(6), ts::describe<n::mlp::network>(7),
                                          ts::describe<n::inception::network>(4), ts::describe<n::unet::network>(3),
                                          ts::describe<n::frozen_net::network>(5)};
    coverage seen;
    std::uint64_t seed = 0;
    for (const ts::graph& g : networks) {
        CAPTURE(&g - networks.data());
        on_every_backend([&]<class B>() {
            ++seed;
            CAPTURE(seed);
            hold_refused<B>(g, ts::strategy(g.view()), 1, momentum, not_a_number);
            const float number = &g == networks.data() ? infinity : not_a_number; // tanh makes numbers of infinities
            hold_refused<B>(g, random_strategy(g.view(), 3, seed, seen), 3, adam, number);
            ts::strategy beside = random_strategy(g.view(), 2, seed, seen);
            beside.overlap = true;
            hold_refused<B>(g, beside, 2, momentum, not_a_number);
            hold_refused<B>(g, random_pipeline(g.view(), 2, seed, seen).how, 2, momentum, not_a_number);
        });
    }
}

TEST_CASE("a step whose loss is not finite changes nothing under any synchronization policy") {
    const ts::graph g = ts::describe<test_networks::mlp::network>(6);
    ts::strategy s(g.view());
    for (std::size_t op = 0; op < s.ops.size(); ++op) {
        s.ops[op].degree[0] = 2;
    }
    for (const auto& named : small_policies(g.view(), 2)) {
        CAPTURE(named.first);
        s.sync = named.second;
        hold_refused<ts::reference::backend>(g, s, 2, momentum, not_a_number);
    }
}

TEST_CASE("no device updates before the losses of the others are known") {
    // Two losses on devices of their own; that of one says nothing to the parameters of the other.
    namespace n = test_networks::two_losses;
    const ts::graph g = ts::describe<n::network>(4);
    const ts::graph_view v = g.view();
    ts::strategy s(v);
    int spoiled = -1;
    for (int op = 0; op < v.op_count; ++op) {
        const bool near = v.ops[op].name.find("near") != std::string_view::npos;
        s.ops[ts::to_size(op)].start = near ? 1 : 0;
        spoiled = near && v.ops[op].parameters.size() > 0 ? v.ops[op].parameters[0] : spoiled;
    }
    REQUIRE(spoiled >= 0);
    const batch_data data(v, 4);
    const auto hold = [&]<class B>() {
        for (int i = 0; i < 2; ++i) {
            running<B> r(g, s, 2, momentum);
            std::vector<float> weights = r.session.parameter(spoiled);
            std::fill(weights.begin(), weights.end(), not_a_number);
            r.session.set_parameter(spoiled, weights);
            std::vector<std::vector<float>> before = r.parameters();
            const std::string text = message_of([&] { r.session.step(data.inputs); });
            CAPTURE(text);
            CHECK(contains(text, "the loss of step 1 is not a finite number"));
            CHECK(contains(text, "parameter " + ts::parameter_path_of(v, spoiled) + " is not finite"));
            std::vector<std::vector<float>> after = r.parameters();
            before[ts::to_size(spoiled)].clear();
            after[ts::to_size(spoiled)].clear();
            CHECK(after == before);
        }
    };
    hold.template operator()<late_losses>(); // what the device without it updates is ready long before
    on_every_backend(hold);
}

TEST_CASE("a stage with a loss of its own may go backward before another loss is known; its parameters wait for that") {
    const ts::graph g = ts::describe<test_networks::two_losses::network>(6);
    const ts::graph_view v = g.view();
    std::vector<int> stage;
    for (int op = 0; op < v.op_count; ++op) {
        const auto is = [&](const char* name) { return v.ops[op].name.find(name) != std::string_view::npos; };
        stage.push_back(is("near_l") ? 1 : is("far_l") ? 2 : 0);
    }
    using enum ts::action_kind;
    ts::pipeline_schedule order = ts::schedule::empty_schedule(1, 3, 1);
    order.workers[0] = {{0, 0, forward}, {1, 0, forward},  {1, 0, backward},
                        {2, 0, forward}, {2, 0, backward}, {0, 0, backward}};
    ts::strategy s = ts::search::pipeline(v, stage, order);
    hold_refused<ts::reference::backend>(g, s, 1, momentum, not_a_number);
    for (ts::configuration& c : s.ops) {
        c.degree[0] = 2;
    }
    for (const auto& named : small_policies(v, 2)) {
        CAPTURE(named.first);
        s.sync = named.second;
        hold_refused<ts::reference::backend>(g, s, 2, momentum, not_a_number);
    }
}

TEST_CASE("of a plan of several steps those before a loss that is not finite are taken, the others not") {
    const ts::graph g = ts::describe<test_networks::residual_net::network>(4);
    ts::strategy s(g.view());
    s.ops[0].degree[0] = 2;
    s.steps_per_plan = 3;
    const batch_data first(g.view(), 1);
    const batch_data bad = with(first, g.view(), not_a_number);
    on_every_backend([&]<class B>() {
        running<B> seen(g, s, 2, momentum);
        running<B> spared(g, s, 2, momentum);
        const std::vector<std::vector<ts::input_data>> batches{first.inputs, bad.inputs, first.inputs};
        const std::string text = message_of([&] { seen.session.steps(batches); });
        CHECK(contains(text, "the loss of step 2 is not a finite number"));
        CHECK(seen.session.steps() == 1);
        spared.session.step(first.inputs);
        for (int i = 0; i < 2; ++i) {
            const auto a = seen.parameters();
            const auto b = spared.parameters();
            for (std::size_t p = 0; p < a.size(); ++p) {
                CAPTURE(p);
                CHECK(relative({a[p].begin(), a[p].end()}, {b[p].begin(), b[p].end()}, 1e-3) < 1e-5);
            }
            seen.session.step(first.inputs);
            spared.session.step(first.inputs);
        }
    });
}

TEST_CASE("a parameter whose update is not finite is named, and stays finite") {
    const ts::graph g = ts::describe<one_layer>(4);
    ts::strategy s(g.view());
    s.ops[0].degree[0] = s.ops[1].degree[0] = 2;
    const std::vector<float> x{3e38F, 1, 2, 3, 3e38F, 1, 2, 3, 3e38F, 1, 2, 3, 3e38F, 1, 2, 3};
    const std::vector<std::int32_t> labels{1, 1, 1, 1};
    const std::vector<ts::input_data> batch{std::span<const float>(x), std::span<const std::int32_t>(labels)};
    const ts::optimizer steep(ts::sgd{.learning_rate = 100});
    const ts::optimizer heavy(ts::sgd{.learning_rate = 100, .momentum = 0.9F});
    const ts::optimizer adam(ts::adam{.learning_rate = 0.1F});                  // the square of the gradient overflows
    const ts::optimizer clipped(ts::sgd{.learning_rate = 0.1F}, 1.0F, 4096.0F); // the scaled gradient does
    const ts::optimizer layerwise(ts::lars{}, 0, 4096.0F); // and with it the norm of the parameter's
    on_every_backend([&]<class B>() {
        for (const ts::optimizer& how : {steep, heavy, adam, clipped, layerwise}) {
            running<B> r(g, s, 2, how);
            r.session.set_parameter(0, std::vector<float>(12, 0.0F));
            const std::vector<float> start = r.session.parameter(1);
            const std::string text = message_of([&] { r.session.step(batch); });
            CAPTURE(text);
            CHECK(contains(text, "the update of parameter fc/weight in step 1 is not finite"));
            CHECK(contains(text, how == clipped ? "no parameter was changed" : "was not changed"));
            const std::vector<float> weights = r.session.parameter(0);
            const std::vector<float> bias = r.session.parameter(1);
            for (std::size_t i = 0; i < 12; ++i) { // a row of inputs for each class
                CHECK((weights[i] == 0) == (i % 4 == 0 || how == clipped || how == layerwise));
            }
            CHECK((bias == start) == (how == clipped));
            for (const auto& a : r.session.parameter_copies(0)) {
                CHECK(a.second == weights);
            }
            const std::vector<float> small(16, 0.1F); // what the optimizer keeps is finite as well
            const std::vector<ts::input_data> next{std::span<const float>(small),
                                                   std::span<const std::int32_t>(labels)};
            CHECK(std::isfinite(r.session.step(next)));
        }
    });
}
