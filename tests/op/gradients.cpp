// SPDX-License-Identifier: Apache-2.0
// What gradients of operators read, and those that are no derivatives. Those that are: tests/op_test, which holds them
// against differences of the forward pass.
#include "op/harness.hpp"
#include "op/nests.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace tests;

TEST_CASE("a stopped gradient is zero, and one that goes straight through is that of the output") {
    int checked = 0;
    for (const op_case& c : op_table()) {
        if (c.has_own_gradient && !c.describe().facts.loss) { // of losses: tests/execute/routing.cpp
            op_instance op(c);
            op.forward();
            op.backward();
            const bool stops = c.attributes.kind == ts::op_kind::stop_gradient;
            const std::vector<double> none(op.gradient[0].numbers.size(), 0.0);
            CHECK(op.gradient[0].numbers == (stops ? none : op.gradient[1].numbers));
            ++checked;
        }
    }
    CHECK(checked == 2);
}

TEST_CASE("a gradient reads the values that its description names, and no others") {
    for (const op_case& c : nests::every_row()) {
        op_instance op(c);
        op.forward();
        op.backward();
        for (int o = 0; o < op.d.operands.size(); ++o) {
            if (ts::gradient_nest(op.d, o) < 0) {
                continue;
            }
            ts::compute_call call = op.call(ts::pass::backward);
            tile result = op.gradient[ts::to_size(o)];
            std::fill(result.numbers.begin(), result.numbers.end(), std::nan(""));
            for (int i = 0; i < op.d.operands.size(); ++i) {
                if (ts::has(op.d.operands[o].gradient_reads, i)) {
                    call.value[i] = op_instance::view(op.value[ts::to_size(i)]);
                }
                if (op.d.operands[i].kind == ts::operand_kind::intermediate || (i == op.d.output() && !op.is_loss())) {
                    call.gradient[i] = op_instance::view(op.gradient[ts::to_size(i)]);
                }
            }
            call.gradient[o] = op_instance::view(result);
            call.emits = ts::bit(o);
            CAPTURE(c.name);
            CAPTURE(o);
            CHECK_NOTHROW(ts::reference::compute<double>(call)); // it throws for a value that is missing
            CHECK(result.numbers == op.gradient[ts::to_size(o)].numbers);
        }
    }
}

TEST_CASE("of equal elements in a window, the first in row-major order gets the gradient") {
    const op_case row{
        "ties",
        ts::attributes_of(ts::op_kind::max_pool, ts::op::pool_attributes{.window = {2, 2}, .stride = {2, 2}}),
        {ts::make_shape(1, 1, 2, 4)}};
    op_instance op(row);
    op.value[0].numbers = {1, 1, 0, 2, 1, 1, 2, 2};
    op.gradient[1].numbers = {5, 7};
    op.forward();
    op.backward();
    CHECK(op.value[1].numbers == std::vector<double>{1, 2});
    CHECK(op.gradient[0].numbers == std::vector<double>{5, 0, 0, 7, 0, 0, 0, 0});
}
