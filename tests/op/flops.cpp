// SPDX-License-Identifier: Apache-2.0
// FLOPs and bytes against closed formulas.
#include "op/table.hpp"
#include "support/known_operators.hpp"
#include "tessera/op/analysis.hpp"

#include <doctest/doctest.h>

using namespace tests;

TEST_CASE("FLOPs of convolutions, products and pools") {
    int checked = 0;
    for (const op_case& c : op_table()) {
        const ts::op_attributes& a = c.attributes;
        const ts::description d = c.describe();
        const loop_ranges all(d);
        const ts::shape x = c.inputs[0];
        const ts::shape y = c.infer().output;
        const auto conv = a.as<ts::op::conv2d_attributes>(); // where it is one, or another operator with a window
        const ts::index_t window = conv.window[0] * conv.window[1];
        const auto deep = a.as<ts::op::conv3d_attributes>();
        const ts::index_t box = deep.window[0] * deep.window[1] * deep.window[2];
        const ts::index_t out = a.kind == ts::op_kind::linear ? a.as<ts::op::linear_attributes>().out
                                                              : a.as<ts::op::expert_linear_attributes>().out;
        const auto product = a.as<ts::op::matmul_attributes>();
        CAPTURE(c.name);
        ts::index_t expected = 0;
        switch (test_support::known(a.kind)) {
        case test_support::known_op::conv2d:
            expected = 2 * y.volume() * (x[1] / conv.groups) * window;
            CHECK(ts::backward_flops(d, all.range) == 2 * expected);
            break;
        case test_support::known_op::conv3d:
            expected = 2 * y.volume() * (x[1] / deep.groups) * box;
            CHECK(ts::backward_flops(d, all.range) == 2 * expected);
            break;
        case test_support::known_op::max_pool3d:
        case test_support::known_op::average_pool3d:
            expected = y.volume() * box;
            break;
        case test_support::known_op::
            transposed_conv2d: // where windows do not overlap, every input meets its window once
            if (conv.window[0] != conv.stride[0] || conv.window[1] != conv.stride[1]) {
                continue;
            }
            expected = 2 * x.volume() * conv.out * window;
            CHECK(ts::backward_flops(d, all.range) == 2 * expected);
            break;
        case test_support::known_op::expert_linear:
        case test_support::known_op::linear:
            expected = 2 * x.volume() * out;
            CHECK(ts::backward_flops(d, all.range) == 2 * expected);
            break;
        case test_support::known_op::
            matmul: // every element of the result sums over what the first input has beside its rows
            expected = 2 * y.volume() *
                       (product.transposed[0] ? x[x.rank - 2] : x[x.rank - 1] / (x.rank == 3 ? product.heads : 1));
            CHECK(ts::backward_flops(d, all.range) == 2 * expected);
            break;
        case test_support::known_op::embedding:
            CHECK(ts::backward_flops(d, all.range) == 0);
            break;
        case test_support::known_op::max_pool:
        case test_support::known_op::average_pool:
            expected = y.volume() * window;
            break;
        case test_support::known_op::add: // of a smaller tensor's elements many times
            expected = y.volume();
            break;
        case test_support::known_op::global_average_pool:
        case test_support::known_op::relu:
            expected = x.volume();
            break;
        default:
            continue;
        }
        CHECK(ts::forward_flops(d, all.range) == expected);
        ++checked;
    }
    CHECK(checked > 15);
}

TEST_CASE("of pairs in a band only those that count are counted: one by one they are as many") {
    random_numbers random(3);
    for (int trial = 0; trial < 3000; ++trial) {
        const auto range = [&] {
            const ts::index_t begin = random.below(9);
            return ts::interval{begin, begin + random.below(9)};
        };
        const ts::interval ranges[2] = {range(), range()};
        ts::diagonal_band band{0, 1, random.below(20) - 10, 0};
        band.last = band.first - 1 + random.below(14);
        ts::index_t pairs = 0;
        for (ts::index_t row = ranges[0].begin; row < ranges[0].end; ++row) {
            for (ts::index_t column = ranges[1].begin; column < ranges[1].end; ++column) {
                pairs += band.first <= column - row && column - row <= band.last ? 1 : 0;
            }
        }
        CAPTURE(trial);
        REQUIRE(ts::points_of(band, ranges) == pairs);
    }
}

TEST_CASE("attention counts the pairs that queries see: two products of matrices forward, five backward") {
    random_numbers random(4);
    for (int trial = 0; trial < 300; ++trial) {
        const ts::index_t queries = 1 + random.below(9), keys = 1 + random.below(9), width = 1 + random.below(5);
        ts::op::attention_attributes a{.heads = 2, .causal = random.below(2) == 0};
        a.window = random.below(2) == 0 ? a.unlimited : 1 + random.below(8);
        const ts::shape x[] = {ts::make_shape(3, queries, 2 * width), ts::make_shape(3, keys, 2 * width),
                               ts::make_shape(3, keys, 2 * width)};
        ts::index_t pairs = 0;
        for (ts::index_t t = 0; t < queries; ++t) {
            for (ts::index_t s = 0; s < keys; ++s) {
                const ts::index_t behind = t + keys - queries - s; // the key is, of the query
                pairs += (!a.causal || behind >= 0) && behind < a.window && -behind < a.window ? 1 : 0;
            }
        }
        const ts::description d = ts::describe(ts::attributes_of(ts::op_kind::attention, a), x, 3);
        const ts::index_t product = 3 * 2 * pairs * 2 * width;
        CAPTURE(trial);
        CHECK(ts::forward_flops(d) == 2 * product + 3 * 2 * pairs * 4); // and the sums of exponentials
        CHECK(ts::backward_flops(d) == 5 * product);
    }
}

TEST_CASE("the FLOPs of even shards add up to those of the whole") {
    for (const op_case& c : op_table()) {
        const ts::description d = c.describe();
        for (int l = 0; l < d.loops.size(); ++l) {
            if (!ts::splittable(d, l)) {
                continue;
            }
            ts::index_t forward = 0;
            ts::index_t backward = 0;
            for (ts::index_t part = 0; part < 2; ++part) {
                loop_ranges shard(d);
                shard.range[l] = ts::even_part(d.loops[l].extent, 2, part);
                forward += ts::forward_flops(d, shard.range);
                backward += ts::backward_flops(d, shard.range);
            }
            CAPTURE(c.name);
            CHECK(forward == ts::forward_flops(d));
            CHECK(backward == ts::backward_flops(d));
        }
    }
}

TEST_CASE("bytes of the forward pass count every operand once") {
    const ts::shape image = ts::make_shape(2, 3, 8, 8);
    const ts::op_attributes conv =
        ts::attributes_of(ts::op_kind::conv2d, ts::op::conv2d_attributes{.window = {3, 3}, .out = 4, .bias = true});
    const ts::description d = ts::describe(conv, &image, 1);
    const loop_ranges all(d);
    CHECK(ts::forward_bytes(d, all.range) == 4 * (2 * 3 * 8 * 8 + 4 * 3 * 3 * 3 + 4 + 2 * 4 * 6 * 6));

    const ts::op_attributes norm{.kind = ts::op_kind::batch_norm};
    const ts::description n = ts::describe(norm, &image, 1);
    const loop_ranges everything(n);
    CHECK(ts::forward_bytes(n, everything.range) == 4 * (2 * 2 * 3 * 8 * 8 + 3 + 3) + 8 * 2 * 3);

    const ts::shape tokens = ts::make_shape(2, 5);
    for (const ts::index_t rows : {3, 1000}) { // of a large table, only what is looked up
        const ts::op_attributes look =
            ts::attributes_of(ts::op_kind::embedding, ts::op::embedding_attributes{.vocabulary = rows, .out = 8});
        const ts::description e = ts::describe(look, &tokens, 1);
        const loop_ranges each(e);
        CHECK(ts::forward_bytes(e, each.range) == 4 * (2 * 5 + (rows == 3 ? 3 * 8 : 2 * 5 * 8) + 2 * 5 * 8));
    }
}
