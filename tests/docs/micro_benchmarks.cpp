// SPDX-License-Identifier: Apache-2.0
// The code of docs/micro_benchmarks.md, compiled and run, and what a prediction on this host leaves alone.
#include "io/temporary_folder.hpp"
#include "tessera/backend/host/measure/predict_operator.hpp"
#include "tessera/host.hpp"
#include "tessera/io/files/rows_json.hpp"
#include "tessera/machine/presets.hpp"

#include <doctest/doctest.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

namespace ts = tessera;

struct conv2 : ts::conv2d<20, ts::window<5>> {};

TEST_CASE("one operator is timed as the page says") {
    // clang-format off
    ts::sharded<conv2, ts::split<ts::sample, 2>> op{ts::host::devices(2), ts::make_shape(64, 10, 12, 12)};
    const ts::operator_timing row = ts::time_operator(op, {.precision = 0.02, .seconds = 2});
    // clang-format on
    CHECK(row.name == "conv2");
    CHECK(row.split == "sample/2");
    CHECK(row.forward.median > 0);
    CHECK(row.backward_rate > 0);
    CHECK(row.backward_bytes == 2 * (20 * 10 * 5 * 5 + 20) * 4);
}

TEST_CASE("a chain is timed, predicted and written as the page says") {
    const test::temporary_folder place;
    const std::string folder = place / "";
    // clang-format off
    using chain = ts::sequential<conv2, ts::relu, ts::max_pool<2>>;
    ts::sharded<chain, ts::on<conv2, ts::split<ts::channel, 2>>, ts::others<ts::split<ts::sample, 2>>> op{
        ts::host::devices(2), ts::make_shape(64, 10, 12, 12)};
    // clang-format on
    op.forward();
    op.backward();
    const std::vector<float> output = op.output();
    const std::vector<float> gradient = op.gradient(0);
    // clang-format off
    ts::sharded<chain, ts::extents<64, 10, 12, 12>, ts::on<conv2, ts::split<ts::channel, 2>>> checked{ts::host::devices(2)};

    const ts::operator_prediction here = ts::host::predict_operator(op);
    const ts::operator_prediction there = ts::predict_operator(op, ts::cluster(ts::machines::p100_nodes(1)));
    std::vector<ts::operator_timing> rows{ts::time_operator(op)};
    rows[0].add(here);
    std::printf("%s%s", to_text(rows).c_str(), to_text(ts::time_tasks(op, {.most = 50}, &here)).c_str());
    std::printf("on a P100 node: %.1f us forward\n", there.forward_seconds() * 1e6);

    ts::io::write_csv(folder + "operators.csv", rows);
    ts::io::write_json(folder + "operators.json", rows);
    const auto read = ts::io::rows_of<ts::operator_timing>(ts::io::read_csv(folder + "operators.csv"));
    // clang-format on
    CHECK(checked.bound().tasks.size() > 0);
    CHECK(read == rows);
    const ts::io::json_document document(ts::io::read_file(folder + "operators.json"), "operators.json");
    CHECK(ts::io::rows_of<ts::operator_timing>(document) == rows);

    // Every task has its time by itself, and no run is shorter than a device's tasks in it.
    CHECK(here.forward.tasks.size() + here.backward.tasks.size() == op.bound().tasks.size());
    ts::index_t busy = 0;
    for (std::size_t i = 0; i < here.forward.tasks.size(); ++i) {
        CHECK(here.nanoseconds_of(i) > 0);
        busy += op.bound().tasks[i].device == 0 ? here.nanoseconds_of(i) : 0;
    }
    CHECK(here.forward.makespan >= busy);
    CHECK(rows[0].predicted_forward == here.forward_seconds());
    CHECK(there.forward.makespan > 0);
    // Measuring leaves the operator as it is.
    op.forward();
    op.backward();
    CHECK(op.output() == output);
    CHECK(op.gradient(0) == gradient);
}

} // namespace
