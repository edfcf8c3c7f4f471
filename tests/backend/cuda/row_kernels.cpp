// SPDX-License-Identifier: Apache-2.0
// Rows and tables of sizes that the operator table does not have: rows that take a block several passes, blocks that
// share several rows, rows that lie between each other, tokens that come again and again. As calls that the interpreter
// runs, number by number against the reference backend.
#include "support/cuda_instances.hpp"
#include "support/cuda_lists.hpp"
#include "support/one_operator.hpp"

#include "tessera/backend/cuda/kernels/rows.hpp"
#include "tessera/backend/reference/backend.hpp"
#include "tessera/net/precision.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace {

namespace ts = tessera;
using namespace test_support;

/// Numbers that differ by more than `allowed` of their size and of the usual size; both may be NaN.
int wrong(const std::vector<double>& found, const std::vector<double>& expected, double allowed) {
    REQUIRE(found.size() == expected.size());
    double size = 0;
    for (const double x : expected) {
        size += std::isfinite(x) ? std::abs(x) / static_cast<double>(expected.size()) : 0;
    }
    int count = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const bool same = std::isfinite(expected[i])
                              ? std::abs(found[i] - expected[i]) <= allowed * (std::abs(expected[i]) + size)
                              : std::isnan(expected[i]) == std::isnan(found[i]) && !std::isfinite(found[i]);
        count += same ? 0 : 1;
    }
    return count;
}

/// Whole and in two random splits, and in bf16. Returns how many threads rows had, of those kernels that share them
/// out.
std::set<ts::index_t> hold(const tests::op_case& row, const batch_data* given = nullptr) {
    std::set<ts::index_t> threads;
    coverage seen;
    ts::graph network = graph_of(row);
    const ts::graph_view g = network.view();
    const batch_data own = data_of(row, g, 11);
    const batch_data& data = given != nullptr ? *given : own;
    for (std::uint64_t run = 0; run < 4; ++run) {
        const bool rounded = run == 3;
        ts::set_precision(network, rounded ? ts::precision::bf16 : ts::precision::fp32);
        const int devices = run == 1 ? 2 : run == 2 ? 3 : 1;
        const ts::strategy s =
            devices == 1 ? ts::strategy(g) : random_strategy(g, devices, row.name.size() + run, seen);
        CAPTURE(row.name);
        CAPTURE(run);
        ts::reference::backend plain;
        emulated_backend emulated({}, gpu_placement(devices, 0));
        each_result_beside(plain, emulated, g, s, devices, data,
                           [&](int result, const auto& got, const auto& expected) {
                               CAPTURE(result);
                               CHECK(wrong(got, expected, rounded ? 4e-2 : 2e-5) == 0);
                           });
        emulated.each_call([&](const ts::cuda::call& c) {
            const auto* k = std::get_if<ts::cuda::kernel_launch>(&c.body);
            if (k != nullptr && k->which->name == std::string("row_maximum") && run == 0) {
                CHECK(k->threads == 256);
                threads.insert(ts::index_t{1} << k->numbers.as<ts::cuda::kernels::row_numbers>().log_threads);
            }
        });
    }
    return threads;
}

using threads_of_row = std::set<ts::index_t>;

tests::op_case loss_of(const char* name, ts::shape logits, ts::shape labels) {
    return {name, {.kind = ts::op_kind::cross_entropy, .weight = 0.5}, {logits, labels}};
}

tests::op_case softmax_of(const char* name, ts::shape x, bool causal) {
    return {name, ts::attributes_of(ts::op_kind::softmax, ts::op::softmax_attributes{.causal = causal}), {x}};
}

tests::op_case table_of(const char* name, ts::index_t rows, ts::index_t columns, ts::shape tokens) {
    return {name,
            ts::attributes_of(ts::op_kind::embedding, ts::op::embedding_attributes{.vocabulary = rows, .out = columns}),
            {tokens}};
}

/// Tokens of which some come all over again: in a row, by turns, and rows that are one block's; others come never.
batch_data tokens_of(const tests::op_case& row, const ts::graph_view& g, int rows) {
    batch_data data(g, 7);
    std::vector<std::int32_t>& tokens = data.labels[0];
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const int other = tokens[i] / 3 * 3;
        tokens[i] = i % 5 < 2 ? 17 % rows : i % 5 == 2 ? 2065 % rows : i % 11 == 4 ? rows - 1 : other;
    }
    CHECK(row.integers() == rows);
    return data;
}

} // namespace

TEST_CASE("rows longer than a block's pass, rows that share a block, and rows that lie between each other") {
    using ts::make_shape;
    CHECK(hold(loss_of("long", make_shape(5, 6007), make_shape(5))) == threads_of_row{256});
    CHECK(hold(loss_of("of eight", make_shape(21, 100), make_shape(21))) == threads_of_row{32});
    CHECK(hold(loss_of("passes", make_shape(2, 1031, 601), make_shape(2, 1031))) == threads_of_row{32});
    CHECK(hold(loss_of("long pixels", make_shape(2, 4300, 3, 1), make_shape(2, 3, 1))) == threads_of_row{256});
    CHECK(hold(loss_of("pixels", make_shape(3, 9, 13, 11), make_shape(3, 13, 11))) == threads_of_row{2});
    CHECK(hold(loss_of("many pixels", make_shape(1, 41, 181, 183), make_shape(1, 181, 183))) == threads_of_row{2});
}

TEST_CASE("a causal row is read as far as it sees, over several passes, and is 0 from there on") {
    using ts::make_shape;
    CHECK(hold(softmax_of("passes", make_shape(3, 701, 701), true)) == threads_of_row{32});
    CHECK(hold(softmax_of("long", make_shape(1, 3, 5003), true)) == threads_of_row{256});
    CHECK(hold(softmax_of("heads", make_shape(2, 3, 7, 300), true)) == threads_of_row{64});
    const tests::op_case padded{
        "padded",
        ts::attributes_of(ts::op_kind::padded_softmax, ts::op::softmax_attributes{.causal = true}),
        {make_shape(3, 2, 270, 290), make_shape(3)}};
    CHECK(hold(padded) == threads_of_row{64});
}

TEST_CASE("a gradient that is not finite is not hidden by a causal row that does not see it") {
    const tests::op_case row = softmax_of("not finite", ts::make_shape(2, 5, 600), true);
    const ts::graph network = graph_of(row);
    batch_data data = data_of(row, network.view(), 3);
    data.numbers.back()[1 * 600 + 599] = std::numeric_limits<float>::infinity(); // of the second row's last column
    data.numbers.back()[7 * 600 + 301] = std::numeric_limits<float>::quiet_NaN();
    hold(row, &data);
}

TEST_CASE("the gradient of a table is the sum over tokens in their order, wherever they come again") {
    const struct {
        tests::op_case row;
        int rows;
        ts::index_t columns;
    } cases[] = {
        {table_of("several rows of a block", 4500, 3, ts::make_shape(5, 1009)), 4500, 3}, // three times 2048 tokens
        {table_of("several columns of a thread", 6, 2077, ts::make_shape(2, 155)), 6, 2077},
        {table_of("few threads", 19, 5, ts::make_shape(111)), 19, 5},
    };
    for (const auto& [row, rows, columns] : cases) {
        const ts::graph network = graph_of(row);
        const ts::graph_view g = network.view();
        const batch_data data = tokens_of(row, g, rows);
        hold(row, &data);
        emulated_backend emulated({}, gpu_placement(1, 0));
        const auto got = values_after(emulated, g, ts::strategy(g), 1, data);
        const auto n = ts::to_size(columns);
        std::vector<float> sums(ts::to_size(rows) * n, 0.0F);
        for (std::size_t i = 0; i < data.labels[0].size(); ++i) {
            for (std::size_t c = 0; c < n; ++c) {
                sums[ts::to_size(data.labels[0][i]) * n + c] += data.numbers[1][i * n + c];
            }
        }
        const std::string name = row.name;
        CAPTURE(name);
        CHECK((got.at(1000) == std::vector<double>(sums.begin(), sums.end()))); // to the last bit
    }
}
