// SPDX-License-Identifier: Apache-2.0
#include "support/networks.hpp"
#include "support/strategy_fields.hpp"

#include <tessera/backend/host/refine.hpp>
#include <tessera/host.hpp>
#include <tessera/search/optcnn/static_optcnn.hpp>

#include <doctest/doctest.h>

#include <cstdio>

namespace {

namespace ts = tessera;

using found = ts::search::static_optcnn<test_networks::lenet5::network, 16, ts::machines::host_threads<2>>;

const ts::tried_strategy& row(const ts::refined_strategy& r, const std::string& name) {
    for (const ts::tried_strategy& t : r.tried) {
        if (t.name == name) {
            return t;
        }
    }
    throw ts::error("there is no row " + name);
}

} // namespace

TEST_CASE("refine gives the strategy that measured fastest, never a slower one than data parallel or one device") {
    const ts::host::devices devices(2);
    const auto best = ts::refine<test_networks::lenet5::network>(found{}, devices, ts::sgd{}, {},
                                                                 {.turns = 3, .turn_seconds = 0.002});
    REQUIRE(best.tried.size() >= 4);
    for (std::size_t i = 1; i < best.tried.size(); ++i) {
        CHECK(best.tried[i].refused == "");
        CHECK(best.tried[i - 1].milliseconds <= best.tried[i].milliseconds);
    }
    CHECK(best.tried[0].milliseconds <= row(best, "data parallel").milliseconds);
    CHECK(best.tried[0].milliseconds <= row(best, "one device").milliseconds);
    CHECK(row(best, "one device").devices == 1);
    CHECK(row(best, "one device").moved_bytes == 0);
    CHECK(row(best, "data parallel").devices == 2);
    CHECK(row(best, "data parallel").moved_bytes > 0);
    CHECK(to_text(best).find("ms a step") != std::string::npos);
    // Every step has been predicted from its tasks, each measured by itself; how well is for the benchmark to say.
    for (const ts::tried_strategy& t : best.tried) {
        CHECK(t.predicted > 0);
    }
    CHECK(to_text(best).find("predicted") != std::string::npos);

    // What it gives can be trained, and is what it says.
    ts::trainer<test_networks::lenet5::network> trainer(devices, best, ts::sgd{});
    CHECK(trainer.batch() == 16);
    CHECK(trainer.training_plan().moved_bytes == best.tried[0].moved_bytes);
}

TEST_CASE("what does not fit in memory is refused with the reason and the rest still runs") {
    const ts::host::devices devices(2);
    const auto all =
        ts::refine<test_networks::mlp::network>(ts::strategy_of<test_networks::mlp::network, 2, 8>{}, devices,
                                                ts::sgd{}, {}, {.turns = 1, .turn_seconds = 0.0, .predict = false});
    ts::index_t least = all.tried[0].memory_bytes;
    ts::index_t most = least;
    for (const ts::tried_strategy& t : all.tried) {
        least = std::min(least, t.memory_bytes);
        most = std::max(most, t.memory_bytes);
    }
    REQUIRE(least < most);
    ts::session_options tight;
    tight.device_memory = least;
    const auto some =
        ts::refine<test_networks::mlp::network>(ts::strategy_of<test_networks::mlp::network, 2, 8>{}, devices,
                                                ts::sgd{}, tight, {.turns = 1, .turn_seconds = 0.0, .predict = false});
    CHECK(some.tried.front().refused == "");
    CHECK(some.tried.front().memory_bytes == least);
    CHECK(some.tried.back().refused.find("bytes") != std::string::npos);
    tight.device_memory = 1000;
    CHECK_THROWS_WITH_AS(ts::refine<test_networks::mlp::network>(ts::strategy_of<test_networks::mlp::network, 2, 8>{},
                                                                 devices, ts::sgd{}, tight),
                         doctest::Contains("no strategy can run"), ts::error);
}

TEST_CASE("refine without predictions measures the named strategies alone") {
    const ts::host::devices devices(2);
    const auto best =
        ts::refine<test_networks::mlp::network>(ts::strategy_of<test_networks::mlp::network, 2, 8>{}, devices,
                                                ts::sgd{}, {}, {.turns = 1, .turn_seconds = 0.0, .predict = false});
    for (const ts::tried_strategy& t : best.tried) {
        CHECK(t.predicted == -1);
        CHECK(t.name.find("searched") == std::string::npos);
    }
    CHECK(to_text(best).find("predicted") == std::string::npos);
}

namespace {

struct given_strategy {
    ts::strategy value;
    int devices = 2;
    ts::index_t batch = 8;
    ts::strategy_view view() const { return value.view(); }
};

} // namespace

TEST_CASE("refine tries data parallelism beside a strategy that differs from it in any one field") {
    using network = test_networks::mlp::network;
    const ts::host::devices devices(2);
    const ts::graph g = ts::describe<network>(8);
    const ts::refine_options short_turns{.turns = 1, .turn_seconds = 0.0, .predict = false};
    const ts::strategy same = ts::search::data_parallel(g.view(), 2);
    CHECK_THROWS_AS(
        row(ts::refine<network>(given_strategy{same}, devices, ts::sgd{}, {}, short_turns), "data parallel"),
        ts::error);
    int compared = 0;
    for (const test_support::changed_field& f : test_support::changed_fields()) {
        const std::string owner = f.owner;
        given_strategy other{same};
        if (owner != "strategy" && owner != "configuration" && owner != "synchronization") {
            continue; // fields of what data parallelism has not: synchronization and schedule are compared as wholes
        }
        f.apply(other.value);
        if (f.name == std::string("pool")) {
            CHECK(ts::is_same(other.value, same)); // nothing uses it
            continue;
        }
        CAPTURE(owner);
        CAPTURE(f.name);
        const ts::sgd how{.momentum = other.value.state_on_host ? 0.9F : 0.0F}; // which then has a state
        const auto tried = ts::refine<network>(other, devices, how, {}, short_turns);
        CHECK_NOTHROW(row(tried, "found"));
        CHECK_NOTHROW(row(tried, "data parallel"));
        ++compared;
    }
    CHECK(compared == 33);
}

TEST_CASE("tasks are measured once, kept in the profile, and found there by name by another process's backend") {
    const std::string file = "refine_test.profile";
    std::remove(file.c_str());
    const ts::graph network = ts::describe<test_networks::residual_net::network>(16);
    const ts::graph_view g = network.view();
    const ts::host::devices devices(2);
    ts::optimizer update = ts::sgd{.momentum = 0.5F};
    const auto planned = [&](ts::host::backend& b, int used) {
        ts::lower_options o;
        o.update = update;
        ts::plan p = ts::lower(g, ts::search::data_parallel(g, used).view(), used, o);
        b.bind(p, g, nullptr);
        ts::finish(g, p);
        return p;
    };
    std::vector<ts::simulation::thread_time> first;
    {
        ts::host::backend b(update, ts::host::backend_options{ts::host::tuning::estimate, 0, file});
        ts::host::task_clock clock(b, devices.threads(), {.rounds = 1});
        const ts::plan p = planned(b, 2);
        CHECK(clock.times(p, g).unknown == static_cast<int>(p.tasks.size()));
        const int kinds = clock.learn(p, g);
        CHECK(kinds > 0);
        CHECK(kinds < static_cast<int>(p.tasks.size())); // both devices do the same
        CHECK(clock.learn(p, g) == 0);
        first = clock.times(p, g).tasks;
    }
    ts::host::backend b(update, ts::host::backend_options{ts::host::tuning::estimate, 0, file});
    ts::host::task_clock clock(b, devices.threads());
    const ts::plan p = planned(b, 2);
    const ts::host::plan_times again = clock.times(p, g);
    CHECK(again.unknown == 0);
    REQUIRE(again.tasks.size() == first.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
        CHECK(again.tasks[i].alone == first[i].alone);
    }
    CHECK(clock.times(planned(b, 1), g).unknown > 0); // other shapes
    update = ts::adam{};
    ts::host::backend other(update, ts::host::backend_options{ts::host::tuning::estimate, 0, file});
    ts::host::task_clock of_other(other, devices.threads());
    CHECK(of_other.times(planned(other, 2), g).unknown > 0); // another update
    std::remove(file.c_str());

    // A measured run of the same plan has the same tasks; they lie within the run and in each device's order.
    ts::session<ts::host::backend> session(g, ts::search::data_parallel(g, 2), 2, update, {}, other, devices.threads());
    const ts::detail::synthetic_batch<ts::graph_view> data(g);
    ts::simulation::timeline t;
    session.step(data.inputs, t);
    const ts::plan& run = session.training_plan();
    REQUIRE(t.tasks.size() == run.tasks.size());
    for (const std::vector<int>& list : run.order) {
        ts::index_t before = 0;
        for (const int i : list) {
            const ts::simulation::task_span& s = t.tasks[ts::to_size(i)];
            CHECK(s.start >= before);
            CHECK(s.end >= s.start);
            before = s.end;
        }
        CHECK(before <= t.makespan);
    }
    for (std::size_t i = 0; i < run.tasks.size(); ++i) {
        for (const ts::wait_for& w : run.tasks[i].waits) {
            const int last = run.order[ts::to_size(w.list)][ts::to_size(w.count - 1)];
            CHECK(t.tasks[ts::to_size(last)].end <= t.tasks[i].start);
        }
    }
}

TEST_CASE("refine wants the devices that the strategy was made for") {
    CHECK_THROWS_WITH_AS(ts::refine<test_networks::lenet5::network>(found{}, ts::host::devices(3)),
                         doctest::Contains("made for 2 devices and there are 3"), ts::error);
}

namespace {

constexpr ts::search::search_record halves_record{
    .name = "halves",
    .title = "the first half alone",
    .about = "a search of one's own",
    .run =
        [](const ts::graph_view& g, const ts::cluster&, const ts::search::search_options&) {
            ts::strategy s = ts::search::data_parallel(g, 2);
            s.ops[0] = {};
            return ts::search::search_found{s};
        },
};

} // namespace

TEST_CASE("refine tries what the searches of its list find, one's own too, and nothing twice") {
    using network = test_networks::mlp::network;
    const ts::host::devices devices(2);
    ts::refine_options how{.turns = 1, .turn_seconds = 0.0, .predict = false};
    how.tried.push_back(&halves_record);
    how.tried.push_back(&halves_record);
    const auto count = [](const ts::refined_strategy& r, const std::string& name) {
        return std::count_if(r.tried.begin(), r.tried.end(), [&](const auto& t) { return t.name == name; });
    };
    const auto with = ts::refine<network>(ts::strategy_of<network, 2, 8>{}, devices, ts::sgd{}, {}, how);
    CHECK(count(with, "the first half alone") == 1);
    CHECK(count(with, "data parallel") == 1);
    CHECK(count(with, "found") == 1);
    CHECK(count(with, "one device") == 0); // the same as what was found
    how.tried.clear();
    const auto without = ts::refine<network>(ts::strategy_of<network, 2, 8>{}, devices, ts::sgd{}, {}, how);
    CHECK(without.tried.size() == 1);
    CHECK(count(without, "found") == 1);
}
