// SPDX-License-Identifier: Apache-2.0
// Gradients that are used some steps late: against one device in double that delays them, against training without, in
// time by simulation, and what is recorded.
#include "support/parameter_difference.hpp"
#include "support/planned.hpp"
#include "support/random_pipeline.hpp"
#include "support/refusal.hpp"
#include "support/same_numbers.hpp"
#include "support/star.hpp"
#include "support/sweep_check.hpp"

#include "tessera/backend/host/backend.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/schedule/stale_gradients.hpp"
#include "tessera/simulate/simulate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace ts = tessera;
using namespace test_support;

struct fc1 : ts::linear<24> {};
struct fc2 : ts::linear<10> {};
struct fc3 : ts::linear<5> {};
struct network : ts::sequential<ts::features<12>, fc1, ts::tanh, fc2, ts::tanh, fc3, ts::cross_entropy> {};
constexpr int samples = 12;

using numbers = std::vector<double>;
using batches_of = std::vector<std::vector<ts::input_data>>;

const ts::graph& described() {
    static const ts::graph g = ts::describe<network>(samples);
    return g;
}

ts::synchronization stale(const ts::graph_view& g, int staleness) {
    return ts::schedule::stale_gradients(ts::schedule::gradients_of(g), staleness, {1200, 100});
}

/// One device that uses the gradient of a step when `staleness` more have been computed, or a plan of `period` steps
/// has ended: SGD with momentum.
std::vector<numbers> one_device(const std::vector<batch_data>& data, const ts::sgd& rule, int staleness,
                                int steps_per_plan, std::uint64_t seed) {
    ts::reference::network n(described().view());
    n.initialize(seed);
    std::vector<numbers> velocity;
    for (const numbers& p : n.parameters) {
        velocity.emplace_back(p.size(), 0.0);
    }
    std::vector<std::vector<numbers>> waiting;
    for (std::size_t step = 0; step < data.size(); ++step) {
        const batch_data& b = data[step];
        for (std::size_t k = 0; k < b.tensors.size(); ++k) {
            b.labels[k].empty() ? n.set(b.tensors[k], std::span(b.numbers[k]))
                                : n.set(b.tensors[k], std::span(b.labels[k]));
        }
        ts::run_state run;
        run.seed = seed;
        run.step = step;
        n.differentiate(run);
        waiting.push_back(n.gradients);
        const bool ends = (step + 1) % ts::to_size(steps_per_plan) == 0;
        while (!waiting.empty() && (ends || waiting.size() > ts::to_size(staleness))) {
            for (std::size_t p = 0; p < velocity.size(); ++p) {
                for (std::size_t i = 0; i < velocity[p].size(); ++i) {
                    velocity[p][i] = static_cast<double>(rule.momentum) * velocity[p][i] + waiting[0][p][i];
                    n.parameters[p][i] -= static_cast<double>(rule.learning_rate) * velocity[p][i];
                }
            }
            waiting.erase(waiting.begin());
        }
    }
    return n.parameters;
}

struct training {
    std::vector<std::vector<float>> parameters;
    std::vector<double> losses;
    ts::staleness_record record;
};

template <class Backend>
training trained(const ts::graph_view& g, const ts::strategy& s, int devices, const ts::optimizer& update,
                 std::uint64_t seed, const batches_of& batches) {
    ts::workers threads(devices);
    ts::session_options options;
    options.seed = seed;
    Backend backend(update);
    ts::session<Backend> session(g, s, devices, update, options, backend, threads);
    training t;
    t.losses = session.steps(batches);
    t.record = session.staleness();
    for (int p = 0; p < g.parameter_count; ++p) {
        t.parameters.push_back(session.parameter(p));
        const auto copies = session.parameter_copies(p);
        for (const auto& c : copies) {
            CHECK((c.first != copies[0].first || c.second == copies[0].second));
        }
    }
    return t;
}

std::vector<batch_data> drawn(int steps) {
    std::vector<batch_data> all;
    all.reserve(ts::to_size(steps));
    for (int i = 0; i < steps; ++i) {
        all.emplace_back(described().view(), static_cast<std::uint64_t>(100 + i));
    }
    return all;
}

} // namespace

TEST_CASE("stale gradients: the parameters of one device that delays them, in double, under random strategies") {
    const ts::graph_view g = described().view();
    const ts::sgd rule{.learning_rate = 0.1F, .momentum = 0.5F};
    const std::vector<batch_data> data = drawn(12);
    batches_of batches;
    for (const batch_data& b : data) {
        batches.push_back(b.inputs);
    }
    const std::vector<numbers> start = one_device({}, rule, 0, 1, 3);
    const std::vector<numbers> plain = one_device(data, rule, 0, 1, 3);
    coverage seen;
    for (const int staleness : {0, 1, 2, 4}) {
        const int steps_per_plan = staleness < 3 ? 4 : 6;
        const std::vector<numbers> expected = one_device(data, rule, staleness, steps_per_plan, 3);
        for (int i = 0; i < 8; ++i) {
            const int devices = 1 + i % 4;
            pipeline_case p = random_pipeline(g, devices, static_cast<std::uint64_t>(500 + 10 * staleness + i), seen);
            ts::strategy s = i < 4 ? data_parallel(g, devices) : std::move(p.how);
            s.parameters_on = -1;
            s.sync = stale(g, staleness);
            for (ts::message& m : s.sync.messages) {
                m.method = static_cast<ts::exchange>(i < 4 ? 1 : i % 4);
            }
            s.steps_per_plan = steps_per_plan;
            s.overlap = i % 3 == 1;
            CAPTURE(staleness);
            CAPTURE(i);
            CAPTURE(p.schedule);
            const training r = i % 2 == 0 ? trained<ts::reference::backend>(g, s, devices, rule, 3, batches)
                                          : trained<ts::host::backend>(g, s, devices, rule, 3, batches);
            const double off = parameter_difference(r.parameters, expected, start);
            CHECK(off < 1e-3);
            CHECK((staleness == 0 || parameter_difference(r.parameters, plain, start) > 10 * off));
            CHECK(r.record.most == staleness);
            CHECK(r.record.steps == 12);
            double total = 0;
            for (int t = 0; t < 12; ++t) {
                total += std::min(t % steps_per_plan, staleness);
            }
            CHECK(r.record.mean() == doctest::Approx(total / 12));
        }
    }
}

TEST_CASE("stale gradients: a bound of 0 is bit for bit training without, and steps one by one are not stale") {
    const ts::graph_view g = described().view();
    const ts::optimizer rule = ts::adam{.learning_rate = 0.01F};
    const std::vector<batch_data> data = drawn(8);
    batches_of batches;
    for (const batch_data& b : data) {
        batches.push_back(b.inputs);
    }
    ts::strategy s = data_parallel(g, 3, stale(g, 0));
    s.steps_per_plan = 4;
    const auto with = trained<ts::host::backend>(g, s, 3, rule, 3, batches);
    s.sync = ts::schedule::buckets(ts::schedule::gradients_of(g), {1200, 100});
    const auto without = trained<ts::host::backend>(g, s, 3, rule, 3, batches);
    CHECK(with.parameters == without.parameters);
    CHECK(with.losses == without.losses);
    CHECK(with.record.most == 0);
    s.sync = stale(g, 2);
    s.steps_per_plan = 3; // 8 steps: two plans of 3, and 2 by themselves
    const auto mixed = trained<ts::host::backend>(g, s, 3, rule, 3, batches);
    CHECK(mixed.record.most == 2);
    CHECK(mixed.record.steps == 8);
    CHECK(mixed.record.total == 6);
    CHECK(mixed.record.last_run == std::vector<int>{0});
    CHECK(mixed.parameters != without.parameters);
}

TEST_CASE("stale gradients: training converges with bounds of 1, 2 and 4") {
    const ts::graph_view g = described().view();
    std::vector<batch_data> data = drawn(16);
    batches_of batches;
    for (batch_data& b : data) { // the class is the largest of five sums of features
        for (std::size_t k = 0; k < b.tensors.size(); ++k) {
            for (std::size_t i = 0; i < b.labels[k].size(); ++i) {
                int best = 0;
                for (int c = 1; c < 5; ++c) {
                    const auto of = [&](int j) { return b.numbers[0][12 * i + ts::to_size(j)]; };
                    best = of(2 * c) + of(2 * c + 1) > of(2 * best) + of(2 * best + 1) ? c : best;
                }
                b.labels[k][i] = best;
            }
        }
    }
    for (int epoch = 0; epoch < 40; ++epoch) {
        for (const batch_data& b : data) {
            batches.push_back(b.inputs);
        }
    }
    for (const int staleness : {0, 1, 2, 4}) {
        ts::strategy s = data_parallel(g, 2, stale(g, staleness));
        s.steps_per_plan = 8;
        const auto r =
            trained<ts::host::backend>(g, s, 2, ts::sgd{.learning_rate = 0.1F, .momentum = 0.5F}, 3, batches);
        double last = 0;
        for (std::size_t i = r.losses.size() - 16; i < r.losses.size(); ++i) {
            last += r.losses[i] / 16;
        }
        MESSAGE("staleness " << staleness << ": loss " << r.losses[0] << " at first, " << last << " in the last epoch");
        CHECK(r.losses[0] > 1.4);
        CHECK(last < 0.3);
    }
}

TEST_CASE("stale gradients: on slow links a simulated step is shorter, on fast ones it is not") {
    struct wide : ts::linear<512> {};
    struct big : ts::sequential<ts::features<512>, ts::repeat<3, wide>, fc3, ts::cross_entropy> {};
    const ts::graph whole = ts::describe<big>(256);
    const ts::graph_view g = whole.view();
    const auto step = [&](int staleness, ts::index_t link, bool server) {
        ts::strategy s = data_parallel(
            g, 4, ts::schedule::stale_gradients(ts::schedule::gradients_of(g), staleness, {1 << 20, 1 << 18}));
        for (ts::message& m : s.sync.messages) {
            m.method = server ? ts::exchange::server : m.method;
        }
        s.steps_per_plan = 8;
        s.overlap = true;
        ts::lower_options o;
        o.update = ts::sgd{};
        return static_cast<double>(
                   ts::simulation::simulate(g, planned(g, s, 4, o), star(4, 1000, 100000, link)).makespan) /
               8;
    };
    for (const bool server : {false, true}) {
        const double at_once = step(0, 10000, server);
        const double late = step(2, 10000, server);
        const double fast = step(0, 10000000, server);
        const double fast_late = step(2, 10000000, server);
        MESSAGE((server ? "servers: " : "all-reduce: ")
                << at_once << " ns a step at once, " << late << " two steps late; on fast links " << fast << " and "
                << fast_late);
        CHECK(late < 0.9 * at_once);
        CHECK(fast_late > 0.95 * fast);
        CHECK(late > fast);
    }
}

TEST_CASE("stale gradients: damaged plans and what makes no sense are refused") {
    const ts::graph_view g = described().view();
    ts::strategy s = data_parallel(g, 2, stale(g, 2));
    s.steps_per_plan = 4;
    ts::lower_options o;
    o.update = ts::sgd{};
    const ts::plan good = planned(g, s, 2, o);
    CHECK(good.staleness == 2);
    CHECK(ts::staleness_of(good) == std::vector<int>{0, 1, 2, 2});
    for (const int other : {0, 1, 3, 4, -1}) { // tasks are not what the plan says of itself
        ts::plan p = good;
        p.staleness = other;
        CHECK(ts::verify(g, p));
    }
    CHECK_FALSE(ts::verify(g, good));
    const auto refused = [&](const auto& change, const ts::optimizer& update) {
        ts::strategy x = s;
        change(x);
        return message_of([&] { trained<ts::reference::backend>(g, x, 2, update, 3, {}); });
    };
    CHECK(contains(refused([](ts::strategy& x) { x.steps_per_plan = 2; }, ts::sgd{}), "fewer than the plan covers"));
    CHECK(contains(refused([](ts::strategy& x) { x.steps_per_plan = 1; }, ts::sgd{}), "fewer than the plan covers"));
    CHECK(contains(refused([](ts::strategy& x) { x.sync.staleness = -1; }, ts::sgd{}), "0 or more steps late"));
    CHECK(contains(refused([](ts::strategy& x) { x.sync.messages.clear(); }, ts::sgd{}), "update_at"));
    CHECK(contains(refused([](ts::strategy& x) { x.sync.update_at = ts::sync_time::ready; }, ts::sgd{}), "update_at"));
    CHECK(contains(refused([](ts::strategy&) {}, ts::lars{}), "take no norms"));
    CHECK(contains(refused([](ts::strategy&) {}, ts::optimizer(ts::sgd{}, 1.0F)), "take no norms"));
    CHECK(contains(message_of([&] { stale(g, -1); }), "0 or more steps late"));
}
