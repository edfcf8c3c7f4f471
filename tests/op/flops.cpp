// SPDX-License-Identifier: Apache-2.0
// FLOPs and bytes against closed formulas.
#include "op/table.hpp"
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
        const ts::index_t window = a.window[0] * a.window[1];
        CAPTURE(c.name);
        ts::index_t expected = 0;
        switch (a.kind) {
        case ts::op_kind::conv2d:
            expected = 2 * y.volume() * (x[1] / a.groups) * window;
            CHECK(ts::backward_flops(d, all.range) == 2 * expected);
            break;
        case ts::op_kind::transposed_conv2d: // where windows do not overlap, every input meets its window once
            if (a.window[0] != a.stride[0] || a.window[1] != a.stride[1]) {
                continue;
            }
            expected = 2 * x.volume() * a.out * window;
            CHECK(ts::backward_flops(d, all.range) == 2 * expected);
            break;
        case ts::op_kind::expert_linear:
        case ts::op_kind::linear:
            expected = 2 * x.volume() * a.out;
            CHECK(ts::backward_flops(d, all.range) == 2 * expected);
            break;
        case ts::op_kind::matmul: // every element of the result sums over what the first input has beside its rows
            expected = 2 * y.volume() * (a.transposed[0] ? x[x.rank - 2] : x[x.rank - 1] / (x.rank == 3 ? a.heads : 1));
            CHECK(ts::backward_flops(d, all.range) == 2 * expected);
            break;
        case ts::op_kind::embedding:
            CHECK(ts::backward_flops(d, all.range) == 0);
            break;
        case ts::op_kind::max_pool:
        case ts::op_kind::average_pool:
            expected = y.volume() * window;
            break;
        case ts::op_kind::global_average_pool:
        case ts::op_kind::add:
        case ts::op_kind::relu:
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
    const ts::op_attributes conv{.kind = ts::op_kind::conv2d, .out = 4, .window = {3, 3}, .bias = true};
    const ts::description d = ts::describe(conv, &image, 1);
    const loop_ranges all(d);
    CHECK(ts::forward_bytes(d, all.range) == 4 * (2 * 3 * 8 * 8 + 4 * 3 * 3 * 3 + 4 + 2 * 4 * 6 * 6));

    const ts::op_attributes norm{.kind = ts::op_kind::batch_norm};
    const ts::description n = ts::describe(norm, &image, 1);
    const loop_ranges everything(n);
    CHECK(ts::forward_bytes(n, everything.range) == 4 * (2 * 2 * 3 * 8 * 8 + 3 + 3) + 8 * 2 * 3);

    const ts::shape tokens = ts::make_shape(2, 5);
    for (const ts::index_t rows : {3, 1000}) { // of a large table, only what is looked up
        const ts::op_attributes look{.kind = ts::op_kind::embedding, .out = 8, .vocabulary = rows};
        const ts::description e = ts::describe(look, &tokens, 1);
        const loop_ranges each(e);
        CHECK(ts::forward_bytes(e, each.range) == 4 * (2 * 5 + (rows == 3 ? 3 * 8 : 2 * 5 * 8) + 2 * 5 * 8));
    }
}
