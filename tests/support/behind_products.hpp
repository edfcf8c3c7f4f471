// SPDX-License-Identifier: Apache-2.0
// A row of the operator table as a network in which products come before the operator, so that gradients of its inputs
// show in theirs.
#pragma once

#include "support/one_operator.hpp"

namespace test_support {

inline ts::graph graph_behind_products(const tests::op_case& c) {
    ts::graph_builder b;
    struct first;
    struct second;
    struct layer;
    int read[ts::max_inputs] = {};
    const int count = static_cast<int>(tensors_read(c));
    const ts::description d = c.describe();
    for (int i = 0; i < count; ++i) {
        const ts::shape& x = c.inputs[ts::to_size(i)];
        const ts::element type = d.operands[d.find_operand(ts::operand_kind::input, i)].type;
        const int in = b.add_input(x, type, "input");
        if (type != ts::element::f32) { // integers are read as they are
            read[i] = in;
            continue;
        }
        const ts::index_t out = x[ts::op::channel_dimension(x.rank)];
        const ts::op_attributes a = x.rank == 4
                                        ? ts::attributes_of(ts::op_kind::conv2d, ts::op::conv2d_attributes{.out = out})
                                        : ts::attributes_of(ts::op_kind::linear, ts::op::linear_attributes{.out = out});
        read[i] =
            b.add_op(a, i == 0 ? "first" : "second", i == 0 ? ts::key_of<first> : ts::key_of<second>, false, &in, 1);
    }
    const int out = b.add_op(c.attributes, "layer", ts::key_of<layer>, false, read, count);
    if (b.refused) {
        throw ts::error(ts::to_text(b.refused, b.refused_at));
    }
    b.add_input(b.tensors[out].extents, ts::element::f32, "output gradient");
    return b.built();
}

} // namespace test_support
