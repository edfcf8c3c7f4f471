// SPDX-License-Identifier: Apache-2.0
// Micro-benchmarks of operators and chains: what their rows say, and predictions of the very plan that runs.
#include "tessera/execute/measure/operator_timing.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/measure/sharded.hpp"
#include "tessera/machine/presets.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

namespace ts = tessera;

struct conv : ts::conv2d<6, ts::window<3>, ts::padding<1>> {};
struct fc : ts::linear<10> {};

template <class Op, class... Options>
using alone = ts::sharded_on<ts::reference::backend, Op, Options...>;
using ts::on;
using ts::split;

/// A millisecond passes whenever somebody looks.
struct steady_clock {
    std::int64_t* now;
    std::int64_t operator()() const { return *now += 1'000'000; }
};

TEST_CASE("a row says what was run, how it was split, what it moves and how fast it was") {
    alone<ts::sequential<conv, ts::relu>, on<conv, split<ts::sample, 2>>, on<ts::relu, split<ts::channel, 2>>> op{
        ts::local_devices(2), ts::make_shape(4, 3, 6, 8)};
    std::int64_t now = 0;
    const ts::operator_timing row = ts::time_operator(op, {.least = 7, .sample_seconds = 0}, steady_clock{&now});
    CHECK(row.name == "conv, relu");
    CHECK(row.input == "4x3x6x8");
    CHECK(row.split == "sample/2, channel/2");
    CHECK(row.devices == 2);
    CHECK(row.tasks == static_cast<int>(op.bound().tasks.size()));
    CHECK(row.forward.samples == 7);
    CHECK(row.forward.median == doctest::Approx(1e-3));
    CHECK(row.backward.upper_quartile == doctest::Approx(1e-3));
    const ts::index_t multiply_adds = 4 * 6 * 6 * 8 * 3 * 3 * 3;
    CHECK(row.forward_flops >= 2 * multiply_adds);
    CHECK(row.forward_flops < 2 * multiply_adds + 4 * 6 * 6 * 8 * 4);
    CHECK(row.forward_rate == doctest::Approx(static_cast<double>(row.forward_flops) * 1e3));
    CHECK(row.backward_rate == doctest::Approx(static_cast<double>(row.backward_flops) * 1e3));
    // From halves of the samples to halves of the channels: of every device's half, a half; the same of the gradient.
    // Then the weights' gradients.
    CHECK(row.forward_bytes == 4 * 6 * 6 * 8 / 2 * 4);
    CHECK(row.forward_bytes + row.backward_bytes == op.moved_bytes());
    CHECK(row.predicted_forward == 0);
    const std::string text = to_text(std::vector<ts::operator_timing>{row});
    CHECK(text.find("conv, relu  4x3x6x8  sample/2, channel/2  forward   1000.00  1000.00 to 1000.00") !=
          std::string::npos);
    CHECK(std::count(text.begin(), text.end(), '\n') == 3);
}

TEST_CASE("a prediction is the simulation of the plan's own tasks, forward and backward apart") {
    const ts::cluster node(ts::machines::p100_nodes(1));
    alone<ts::sequential<conv, ts::relu>> one{ts::local_devices(1), ts::make_shape(64, 3, 32, 32)};
    const ts::operator_prediction p = ts::predict_operator(one, node);
    const ts::simulation::timeline whole = ts::simulation::simulate(one.network(), one.bound(), node);
    REQUIRE(p.forward.tasks.size() + p.backward.tasks.size() == one.bound().tasks.size());
    CHECK(static_cast<int>(p.forward.tasks.size()) == one.first_backward_task());
    // One device does one task after the other.
    CHECK(p.forward.makespan > 0);
    CHECK(p.backward.makespan > p.forward.makespan);
    CHECK(p.forward.makespan + p.backward.makespan == whole.makespan);
    for (std::size_t i = 0; i < whole.tasks.size(); ++i) {
        CHECK(p.nanoseconds_of(i) == whole.tasks[i].end - whole.tasks[i].start);
    }

    // Several devices: parts are no longer than the whole, and together no shorter, as backward may begin in places
    // before forward has ended.
    alone<ts::sequential<conv, ts::relu, ts::max_pool<2>>, on<conv, split<ts::sample, 4>>,
          on<ts::relu, split<ts::channel, 2>>, on<ts::max_pool<2>, split<ts::height, 4>>>
        four{ts::local_devices(4), ts::make_shape(64, 3, 32, 32)};
    const ts::operator_prediction q = ts::predict_operator(four, node);
    const ts::simulation::timeline all = ts::simulation::simulate(four.network(), four.bound(), node);
    CHECK(q.forward.makespan <= all.makespan);
    CHECK(q.backward.makespan <= all.makespan);
    CHECK(q.forward.makespan + q.backward.makespan >= all.makespan);

    ts::operator_timing row;
    row.add(q);
    CHECK(row.predicted_forward == doctest::Approx(static_cast<double>(q.forward.makespan) * 1e-9));
    CHECK(row.predicted_backward == doctest::Approx(static_cast<double>(q.backward.makespan) * 1e-9));
    CHECK_THROWS_AS(ts::predict_operator(four, ts::cluster(ts::machines::p100_nodes(1, 2))), ts::error);
}

TEST_CASE("tasks are timed one by one, beside what is predicted for each") {
    alone<fc, split<ts::reduction, 2>> op{ts::local_devices(2), ts::make_shape(6, 8)};
    const ts::operator_prediction p = ts::predict_operator(op, ts::cluster(ts::machines::p100_nodes(1)));
    const std::vector<ts::task_timing> rows = ts::time_tasks(op, {.warm_up = 2, .most = 5, .seconds = 100}, &p);
    REQUIRE(rows.size() == op.bound().tasks.size());
    int backward = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const ts::task& t = op.bound().tasks[i];
        CHECK(rows[i].task == static_cast<int>(i));
        CHECK(rows[i].device == t.device);
        CHECK(rows[i].kind == to_text(t.kind()));
        CHECK(rows[i].what.find("fc ") != std::string::npos);
        CHECK(rows[i].measured.samples == 5);
        CHECK(rows[i].predicted == doctest::Approx(static_cast<double>(p.nanoseconds_of(i)) * 1e-9));
        backward += t.what != ts::pass::forward ? 1 : 0;
    }
    CHECK(rows[0].measured.median > 0);
    CHECK(backward > 0);
    CHECK(to_text(rows).find("fc backward") != std::string::npos);
    CHECK(ts::time_tasks(op, {.most = 1})[0].predicted == 0);
    // When the time is over there is one sample all the same.
    std::int64_t now = 0;
    const auto late = ts::time_tasks(op, {.seconds = 1e-3}, nullptr, steady_clock{&now});
    CHECK(late[0].measured.samples == 1);
    CHECK(late[0].measured.median > 0);
}

TEST_CASE("stretches of a plan are refused where there are none") {
    const alone<fc> op{ts::local_devices(1), ts::make_shape(6, 8)};
    const int tasks = static_cast<int>(op.bound().tasks.size());
    CHECK(ts::stretch_of(op.bound(), 0, tasks).tasks.size() == op.bound().tasks.size());
    CHECK(ts::stretch_of(op.bound(), 1, 1).tasks.empty());
    CHECK_THROWS_AS(ts::stretch_of(op.bound(), 0, tasks + 1), ts::error);
    CHECK_THROWS_AS(ts::stretch_of(op.bound(), -1, 1), ts::error);
    CHECK_THROWS_AS(ts::stretch_of(op.bound(), 2, 1), ts::error);
    ts::plan p = op.bound();
    p.steps_per_plan = 2;
    CHECK_THROWS_WITH_AS(ts::stretch_of(p, 0, 1),
                         "tessera: a plan of several steps, or with queues, runs whole and not in parts", ts::error);
}

} // namespace
