// SPDX-License-Identifier: Apache-2.0
// docs/adding_a_schedule.md, word for word: the schedule, its timetable, a wrong one, and training under it.
// clang-format off
#include <tessera/schedule/record.hpp>

namespace ts = tessera;

/// All micro-batches forward, then all backward, the first one first.
inline ts::pipeline_schedule first_in_first_out(int stages, int micro_batches) {
    ts::pipeline_schedule s = ts::schedule::empty_schedule(stages, stages, micro_batches);
    for (int stage = 0; stage < stages; ++stage) {
        std::vector<ts::action>& list = s.workers[ts::to_size(stage)];
        for (int m = 0; m < micro_batches; ++m) {
            list.push_back({stage, m, ts::action_kind::forward});
        }
        for (int m = 0; m < micro_batches; ++m) {
            list.push_back({stage, m, ts::action_kind::backward});
        }
    }
    return s;
}

/// Its row: names, a line for lists, and the function.
inline constexpr ts::schedule::schedule_record first_in_first_out_record{
    .name = "first-in-first-out",
    .title = "first in, first out",
    .about = "all forward, then all backward, the first one first",
    .make = [](const ts::schedule::settings& x, const ts::schedule::action_times&) {
        return first_in_first_out(x.workers, x.micro_batches);
    },
};
#include <tessera/schedule/typed_pipeline.hpp>

/// In a strategy that is a type: pipeline<in_arrival_order>. Stage i is on worker i.
struct in_arrival_order {
    static constexpr ts::problem check(int stages, int micro_batches) {
        return ts::schedule::check_pipeline(stages, stages, micro_batches);
    }
    static constexpr ts::schedule_facts facts(int stages, int micro_batches) {
        return {stages, micro_batches, ts::rule::none}; // statistics over the mini-batch: all go forward first
    }
    static constexpr int worker_of(int stage, int /*stages*/) { return stage; }
    static ts::pipeline_schedule make(int stages, int micro_batches) {
        return first_in_first_out(stages, micro_batches);
    }
};
// clang-format on

#include "docs/small_network.hpp"
#include "support/refusal.hpp"

#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/trainer.hpp>
#include <tessera/strategy/typed_strategy.hpp>

#include <doctest/doctest.h>

using docs_support::fc1;
using docs_support::fc2;
using docs_support::network;
using docs_support::samples;

TEST_CASE("the timetable of the schedule of the page") {
    // clang-format off
    const ts::schedule::timetable t = ts::schedule::timetable_of(first_in_first_out(4, 8)); // forward 1, backward 2
    CHECK(t.makespan == (4 - 1 + 8) * (1 + 2)); // idle share (K-1)/(M+K-1), as GPipe's
    // clang-format on
    const ts::pipeline_schedule good = first_in_first_out(2, 2);
    ts::pipeline_schedule s = good;
    // clang-format off
    std::swap(s.workers[0][0], s.workers[0][2]); // backward before forward
    CHECK_THROWS_AS(ts::schedule::timetable_of(s), ts::error);
    // clang-format on
}

TEST_CASE("the schedule of the page is chosen by its name, and fit() tries it") {
    // clang-format off
    ts::search::fit_options how;
    how.schedules.push_back(&first_in_first_out_record);
    const auto& row = ts::find_record(ts::record_list(how.schedules), "first-in-first-out", "schedule");
    const ts::pipeline_schedule by_name = ts::schedule::make({&row, 2, 4}); // two workers, four micro-batches
    // clang-format on
    CHECK(by_name.workers == first_in_first_out(2, 4).workers);
    CHECK_THROWS_WITH_AS(ts::find_record(ts::record_list(how.schedules), "first-in", "schedule"),
                         doctest::Contains("there is no schedule 'first-in'; did you mean first-in-first-out?"),
                         ts::error);
    const ts::graph g = ts::describe<network>(16);
    how.micro_batches = {4};
    const auto of_the_page = [](const ts::search::fit_row& x) {
        return x.how.order.which == &first_in_first_out_record;
    };
    CHECK(docs_support::fits(g, how, of_the_page));
    how.schedules.pop_back();
    CHECK(!docs_support::fits(g, how, of_the_page));
}

TEST_CASE("training under the schedule of the page") {
    const samples batch;
    const ts::graph g = ts::describe<network>(16);
    // clang-format off
    const ts::strategy s = ts::search::pipeline(g.view(), {0, 0, 1, 1}, first_in_first_out(2, 4));
    ts::trainer<network, ts::reference::backend> pipelined(ts::local_devices(2), s, 16, ts::sgd{.learning_rate = 0.1F});
    ts::trainer<network, ts::reference::backend> alone(
        ts::local_devices(1), ts::search::single_device(g.view()), 16, ts::sgd{.learning_rate = 0.1F});
    for (int step = 0; step < 5; ++step) {
        CHECK(pipelined.step(batch) == doctest::Approx(alone.step(batch)).epsilon(1e-5));
    }
    // clang-format on
    ts::strategy wrong = s;
    std::swap(wrong.schedule.workers[0][0], wrong.schedule.workers[0][4]);
    CHECK_THROWS_AS((ts::trainer<network, ts::reference::backend>(ts::local_devices(2), wrong, 16, ts::sgd{})),
                    ts::error);
}

TEST_CASE("training under the type of the page") {
    const samples batch;
    const ts::graph g = ts::describe<network>(16);
    // clang-format off
    using typed = ts::strategy_of<network, 2, 16, ts::stages_from<fc1, fc2>, ts::micro_batches<4>,
                                  ts::pipeline<in_arrival_order>>;
    static_assert(typed::ok);
    CHECK(in_arrival_order::facts(2, 4) == ts::facts_of(first_in_first_out(2, 4)));
    ts::trainer<network, ts::reference::backend> pipelined(ts::local_devices(2), typed{}, ts::sgd{.learning_rate = 0.1F});
    // clang-format on
    const ts::strategy s = ts::search::pipeline(g.view(), {0, 0, 1, 1}, first_in_first_out(2, 4));
    CHECK(ts::strategy(typed::view()).schedule == s.schedule);
    for (const int micro_batches : {1, 2, 5}) {
        for (const int stages : {1, 3}) {
            CHECK(in_arrival_order::facts(stages, micro_batches) ==
                  ts::facts_of(first_in_first_out(stages, micro_batches)));
        }
    }
    CHECK(in_arrival_order::check(2, 0).broken == ts::rule::pipeline_is_empty);
    ts::trainer<network, ts::reference::backend> alone(ts::local_devices(1), ts::search::single_device(g.view()), 16,
                                                       ts::sgd{.learning_rate = 0.1F});
    for (int step = 0; step < 5; ++step) {
        CHECK(pipelined.step(batch) == doctest::Approx(alone.step(batch)).epsilon(1e-5));
    }
}
