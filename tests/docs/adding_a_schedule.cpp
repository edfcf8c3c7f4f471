// SPDX-License-Identifier: Apache-2.0
// docs/adding_a_schedule.md, word for word: the schedule, its timetable, a wrong one, and training under it.
// clang-format off
#include <tessera/schedule/record.hpp>

namespace ts = tessera;

/// All micro-batches forward, then all backward, the first one first.
inline ts::pipeline_schedule first_in_first_out(int stages, int micro_batches) {
    ts::pipeline_schedule s = ts::schedule::empty_schedule(stages, stages, micro_batches);
    for (int stage = 0; stage < stages; ++stage) {
        std::vector<ts::step>& list = s.workers[static_cast<std::size_t>(stage)];
        for (int m = 0; m < micro_batches; ++m) {
            list.push_back({stage, m, ts::step_kind::forward});
        }
        for (int m = 0; m < micro_batches; ++m) {
            list.push_back({stage, m, ts::step_kind::backward});
        }
    }
    return s;
}

/// Its row: names, a line for lists, and the function.
inline constexpr ts::schedule::schedule_record first_in_first_out_record{
    .name = "first-in-first-out",
    .title = "first in, first out",
    .about = "all forward, then all backward, the first one first",
    .make = [](const ts::schedule::settings& x, const ts::schedule::step_times&) {
        return first_in_first_out(x.workers, x.micro_batches);
    },
};
// clang-format on

#include "support/refusal.hpp"

#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/trainer.hpp>
#include <tessera/machine/presets.hpp>
#include <tessera/search/fit.hpp>

#include <doctest/doctest.h>

namespace {

struct fc1 : ts::linear<8> {};
struct fc2 : ts::linear<8> {};
struct network : ts::sequential<ts::features<6>, fc1, ts::relu, fc2, ts::cross_entropy> {};

struct samples {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    int size = 16;

    samples() {
        for (int i = 0; i < size * 6; ++i) {
            inputs.push_back(static_cast<float>(i % 7) / 7.0F - 0.5F);
        }
        for (int i = 0; i < size; ++i) {
            labels.push_back(i % 8);
        }
    }
};

} // namespace

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
    const ts::cluster two(ts::machines::p100_nodes(1, 2));
    how.micro_batches = {4};
    how.simulations = 1000;
    const auto of_the_page = [](const ts::search::fit_result& r) {
        std::size_t n = 0;
        for (const ts::search::fit_row& x : r.rows) {
            n += x.refused.empty() && x.how.order.which == &first_in_first_out_record ? 1 : 0;
        }
        return n;
    };
    CHECK(of_the_page(ts::search::fit(g.view(), two, how)) > 0);
    how.schedules.pop_back();
    CHECK(of_the_page(ts::search::fit(g.view(), two, how)) == 0);
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
