// SPDX-License-Identifier: Apache-2.0
// Learning curves from logs: what is drawn, smoothed by a plain loop, and after a training that went on from an earlier
// step.
#include "tessera/io/reports/learning_curve.hpp"
#include "io/temporary_folder.hpp"
#include "support/refusal.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/trainer.hpp"
#include "tessera/io/train.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;
namespace io = tessera::io;
using test_support::contains;
using test_support::message_of;

io::logged_run run_of(const std::string& name, const std::vector<std::pair<std::int64_t, double>>& points) {
    io::logged_run run{name, {}};
    for (const auto& [step, value] : points) {
        run.scalars.push_back({"loss", step, value, 0});
        run.scalars.push_back({"other", step, -value, 0});
    }
    return run;
}

TEST_CASE("a curve has the points of its tag, and those that a resumed training repeated once") {
    const io::plot_series plain = io::curve_of(run_of("a", {{1, 5.0}, {2, 4.0}, {4, 3.0}}), "loss");
    CHECK(plain.name == "a");
    CHECK(plain.x == std::vector<double>{1, 2, 4});
    CHECK(plain.y == std::vector<double>{5, 4, 3});
    const io::plot_series again = io::curve_of(run_of("a", {{1, 5}, {2, 4}, {3, 9}, {4, 9}, {3, 2}, {5, 1}}), "loss");
    CHECK(again.x == std::vector<double>{1, 2, 3, 5});
    CHECK(again.y == std::vector<double>{5, 4, 2, 1});
}

TEST_CASE("smoothing is the weighted mean of all before, and the legend says so") {
    const double gap = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> values{5, 1, gap, 3, -2};
    const double a = 0.75;
    std::vector<std::pair<std::int64_t, double>> points;
    for (std::size_t i = 0; i < values.size(); ++i) points.emplace_back(i, values[i]);
    const io::plot_series curve = io::curve_of(run_of("a", points), "loss", a);
    CHECK(curve.name == "a (smoothed by 0.75)");
    for (std::size_t i = 0; i < values.size(); ++i) {
        double sum = 0;
        double weight = 0;
        double share = 1; // of the newest, then of the one before
        for (std::size_t k = i + 1; k-- > 0;) {
            if (std::isnan(values[k])) continue;
            sum += share * values[k];
            weight += share;
            share *= a;
        }
        if (std::isnan(values[i]))
            CHECK(std::isnan(curve.y[i]));
        else
            CHECK(curve.y[i] == doctest::Approx(sum / weight).epsilon(1e-12));
    }
    CHECK(contains(message_of([&] { io::curve_of(run_of("a", points), "loss", 1); }), "from 0 to below 1"));
    CHECK(contains(message_of([&] { io::curve_of(run_of("a", points), "loss", gap); }), "from 0 to below 1"));
}

TEST_CASE("several runs lie on one chart, its axes named") {
    const std::vector<io::logged_run> runs{run_of("one", {{1, 5}, {2, 4}}), run_of("two", {{1, 6}, {2, 3}})};
    const std::string svg = io::to_svg(io::learning_curve(runs, "loss", {.title = "Both", .smoothing = 0.5}));
    for (const char* words : {">Both<", ">step<", ">loss<", "one (smoothed by 0.5)<", "two (smoothed by 0.5)<"})
        CHECK(contains(svg, words));
    std::size_t curves = 0;
    for (std::size_t i = svg.find("<polyline"); i != std::string::npos; i = svg.find("<polyline", i + 1)) ++curves;
    CHECK(curves == 2);
    CHECK(contains(message_of([&] { io::learning_curve(runs, "accuracy"); }),
                   "the run 'one' has no 'accuracy' to draw; it has loss, other"));
}

struct fc : ts::linear<3> {};
struct network : ts::sequential<ts::features<4>, fc, ts::cross_entropy> {};

TEST_CASE("the loop over epochs logs every step and epoch") {
    std::vector<float> inputs;
    std::vector<std::int32_t> labels;
    for (int i = 0; i < 21; ++i) {
        labels.push_back(i % 3);
        for (int k = 0; k < 4; ++k) inputs.push_back(static_cast<float>((i * 7 + k * 5) % 11) / 5.0F);
    }
    const io::sample_set set(inputs, labels);
    const test::temporary_folder folder;
    io::metrics_log log(folder / "run");
    ts::trainer<network, ts::reference::backend> trainer(
        ts::local_devices(1), ts::strategy(ts::describe<network>(8).view()), 8, ts::sgd{.learning_rate = 0.1F}, {});
    trainer.set_learning_rate([](std::uint64_t step) { return 1.0 / static_cast<double>(step + 3); });
    const auto records = io::train(trainer, set, {.epochs = 2, .metrics = &log});
    const io::logged_run run{"run", io::read_metrics(log.csv_path())};
    CHECK(run.scalars.size() == 2 * 6 + 2 * 2);
    const io::plot_series loss = io::curve_of(run, "loss");
    std::vector<double> losses = records[0].losses;
    losses.insert(losses.end(), records[1].losses.begin(), records[1].losses.end());
    CHECK(loss.x == std::vector<double>{1, 2, 3, 4, 5, 6});
    CHECK(loss.y == losses);
    const io::plot_series rate = io::curve_of(run, "learning_rate");
    REQUIRE(rate.y.size() == 6);
    CHECK(rate.y[5] == doctest::Approx(1.0 / 8)); // of the step that was taken
    const io::plot_series epochs = io::curve_of(run, "epoch/loss");
    CHECK(epochs.x == std::vector<double>{3, 6});
    CHECK(epochs.y == std::vector<double>{records[0].loss, records[1].loss});
    CHECK(io::curve_of(run, "epoch/samples_per_second").y ==
          std::vector<double>{records[0].samples_per_second(), records[1].samples_per_second()});
}

} // namespace
