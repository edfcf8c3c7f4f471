// SPDX-License-Identifier: Apache-2.0
// The blocks of docs/training.md about metrics and summaries, word for word, in a program that runs.
#include <tessera/backend/reference/backend.hpp>
#include <tessera/execute/measure/summary.hpp>
#include <tessera/execute/trainer.hpp>
#include <tessera/io/files/file.hpp>
#include <tessera/io/reports/learning_curve.hpp>
#include <tessera/io/train.hpp>
#include <tessera/machine/presets.hpp>

#include "io/temporary_folder.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace ts = tessera;

namespace {

struct head : ts::linear<2> {};
struct classifier : ts::sequential<ts::features<4>, head, ts::cross_entropy> {};

ts::io::sample_set samples() {
    std::vector<float> numbers;
    std::vector<std::int32_t> labels;
    for (int i = 0; i < 40; ++i) {
        labels.push_back(i % 2);
        for (int k = 0; k < 4; ++k) numbers.push_back(static_cast<float>((i * 5 + k) % 7) / 7);
    }
    return {numbers, labels};
}

} // namespace

TEST_CASE("docs/training.md has the blocks about metrics of this file") {
    const std::string root = std::string(__FILE__).substr(0, std::string(__FILE__).rfind("tests/docs/"));
    const std::string page = ::test::read_text(root + "docs/training.md");
    const std::string own = ::test::read_text(std::string(__FILE__));
    for (const char* const begin :
         {"ts::io::metrics_log log(", "const std::vector<ts::io::logged_run> runs", "const ts::cluster machine("}) {
        std::size_t at = page.find(begin);
        REQUIRE(at != std::string::npos);
        for (const std::size_t end = page.find("\n```", at); at < end;) {
            const std::size_t stop = page.find('\n', at);
            const std::string line = page.substr(at, stop - at);
            CHECK_MESSAGE(own.find("    " + line + "\n") != std::string::npos, line);
            at = stop + 1;
        }
    }
}

TEST_CASE("a training is logged, two are drawn, and its layers are summed up") {
    const test::temporary_folder here;
    const std::string folder = here.path();
    const ts::io::sample_set set = samples();
    ts::trainer<classifier, ts::reference::backend> trainer(
        ts::local_devices(1), ts::strategy(ts::describe<classifier>(8).view()), 8, ts::sgd{}, {});
    const ts::io::sample_set unseen = samples();
    {
        ts::io::metrics_log other(folder + "/other");
        for (int step = 1; step < 4; ++step) other.add("loss", step, 1.0 / step);
    }
    // clang-format off
    ts::io::metrics_log log(folder + "/run");
    ts::io::train(trainer, set, {.epochs = 5, .metrics = &log});
    const ts::scores test = trainer.evaluate(unseen.batches(trainer.batch()));
    log.add("test/accuracy", static_cast<std::int64_t>(trainer.steps()), test.accuracy);

    const std::vector<ts::io::logged_run> runs{{"sgd", ts::io::read_metrics(folder + "/run/metrics.csv")},
                                               {"adam", ts::io::read_metrics(folder + "/other/metrics.csv")}};
    const ts::io::line_chart chart = ts::io::learning_curve(runs, "loss", {.smoothing = 0.9});
    ts::io::write_file_atomically(folder + "/loss.svg", to_svg(chart));

    const ts::cluster machine(ts::machines::this_host(2));
    std::printf("%s", to_text(trainer.summary(machine)).c_str());
    // clang-format on
    CHECK(chart.series[0].x.size() == 25);
    CHECK(chart.series[1].x.size() == 3);
    CHECK(test_support::contains(::test::read_text(folder + "/loss.svg"), "adam (smoothed by 0.9)"));
    CHECK(test_support::contains(to_text(trainer.summary(machine)), "10 parameters, 10 of them trained"));
}
