// SPDX-License-Identifier: Apache-2.0
// Concatenation along one axis.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

struct concat_attributes {
    index_t axis = -1; ///< the dimension; -1 for the channels
    static constexpr attribute_field fields[] = {{"axis", 1, -1, max_rank - 1}};
};

/// x_i[N,C_i,...] -> y[N,sum of C_i,...], or along another axis. Input i is read at index - offset_i, which lies
/// outside it for other inputs' indices.
constexpr description describe_concat(const op_attributes& a, const shape* inputs, int count) {
    const shape& x = inputs[0];
    const int axis = axis_of(a.as<concat_attributes>().axis, x.rank);
    index_t total = 0;
    for (int k = 0; k < count; ++k) {
        total += inputs[k][axis];
    }
    detail::describer w;
    for (int d = 0; d < x.rank; ++d) {
        w.add_loop(dimension_name(d, x.rank), d == axis ? total : x[d]);
    }
    std::uint32_t reads = 0;
    index_t offset = 0;
    for (int k = 0; k < count; ++k) {
        const int input = w.add_operand(operand_kind::input, k);
        for (int d = 0; d < x.rank; ++d) {
            w.index(input, inputs[k][d], w.at(d, 1, d == axis ? -offset : 0));
        }
        offset += inputs[k][axis];
        reads |= bit(input);
    }
    const int output = w.add_operand(operand_kind::output, 0);
    for (int d = 0; d < x.rank; ++d) {
        w.index(output, d == axis ? total : x[d], d);
    }
    w.d.linear = true;
    w.add_nest(w.all_loops(), reads, output, reducer::none, 0);
    return w.d;
}

constexpr inferred infer_concat(const op_attributes& a, const shape* inputs, int count) {
    shape out = inputs[0];
    if (out.rank < 2 || out.rank > max_rank) {
        return detail::refuse(rule::input_has_wrong_rank, out.rank, max_rank);
    }
    const int axis = axis_of(a.as<concat_attributes>().axis, out.rank);
    if (axis >= out.rank) {
        return detail::refuse(rule::input_has_wrong_rank, out.rank, axis + 1);
    }
    for (int k = 1; k < count; ++k) {
        if (inputs[k].rank != out.rank) {
            return detail::refuse(rule::concat_shapes_differ, inputs[k].rank, out.rank);
        }
        for (int d = 0; d < out.rank; ++d) {
            if (d != axis && inputs[k][d] != out[d]) {
                return detail::refuse(rule::concat_shapes_differ, inputs[k][d], out[d],
                                      static_cast<int>(dimension_name(d, out.rank)));
            }
        }
        out.extent[axis] += inputs[k][axis];
    }
    return {{}, out};
}

inline constexpr op_record concat_record{
    .name = "concat",
    .infer = infer_concat,
    .describe = describe_concat,
    .inputs = 0,
    .own = list_of<concat_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::concat{&op::concat_record};

/// Along the channels.
struct concat : detail::layer_with<op_kind::concat, op::concat_attributes> {};
/// concat_along<axis>: along another dimension.
template <int Axis>
struct concat_along : detail::layer_with<op_kind::concat, op::concat_attributes, axis<Axis>> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
