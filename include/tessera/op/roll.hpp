// SPDX-License-Identifier: Apache-2.0
// Dimensions moved round in a circle: what leaves at one end comes in at the other, as in windows that are shifted (Liu
// et al., "Swin Transformer", 2021, section 3.2).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/move.hpp"

namespace tessera::op {

struct roll_attributes {
    index_t shift[max_rank] = {}; ///< by how many indices upwards; negative: downwards
    static constexpr attribute_field fields[] = {{"shift", max_rank, INT32_MIN}};
};

/// How many parts of its input a roll joins: for each dimension that it moves, what stays below the end and what comes
/// round.
constexpr int roll_parts(const op_attributes& a) {
    int parts = 1;
    for (const index_t shift : a.as<roll_attributes>().shift) {
        parts *= shift != 0 ? 2 : 1;
    }
    return parts;
}

/// y[i] = x[i - shift], or, where that is below 0, x[i - shift + extent]: two parts for each dimension that is moved,
/// in each of which the other's indices lie outside, as in a concatenation. Each part reads the same input, so that a
/// shard reads exactly what comes to it from either end.
constexpr description describe_roll(const op_attributes& attributes, const shape& x) {
    const auto a = attributes.as<roll_attributes>();
    detail::describer w = loops_over(x);
    const int parts = roll_parts(attributes);
    std::uint32_t reads = 0;
    for (int part = 0; part < parts; ++part) {
        const int input = w.add_operand(operand_kind::input, part);
        reads |= bit(input);
        int choice = part;
        for (int d = 0; d < x.rank; ++d) {
            index_t offset = 0;
            if (a.shift[d] != 0) {
                const index_t up = (a.shift[d] % x[d] + x[d]) % x[d];
                offset = choice % 2 == 0 ? -up : x[d] - up;
                choice /= 2;
            }
            w.index(input, x[d], w.at(d, 1, offset));
        }
    }
    return moved_into(w, x, reads);
}

constexpr inferred infer_roll(const op_attributes& attributes, const shape* inputs, int count) {
    const int parts = roll_parts(attributes);
    if (parts > max_inputs || count != parts) {
        return detail::refuse(rule::wrong_number_of_inputs, count, parts < max_inputs ? parts : max_inputs);
    }
    for (int k = 1; k < count; ++k) {
        if (!(inputs[k] == inputs[0])) {
            return detail::refuse(rule::shapes_differ, inputs[k].volume(), inputs[0].volume());
        }
    }
    return infer_moved(*inputs, last_said(attributes.as<roll_attributes>().shift));
}

inline constexpr op_record roll_record{
    .name = "roll",
    .infer = infer_roll,
    .describe = [](const op_attributes& a, const shape* x, int) { return describe_roll(a, *x); },
    .inputs = 0,
    .uses = function_of(roll_parts),
    .own = list_of<roll_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::roll{&op::roll_record};

/// roll<shift<2, 3>, shift<3, 3>>: up to three dimensions moved round in a circle, as torch.roll does it. In a graph it
/// reads its input once for each part that it joins.
template <class First, class... Shifts>
requires(sizeof...(Shifts) < 3) struct roll : detail::layer_with<op_kind::roll, op::roll_attributes, First, Shifts...> {
};

} // namespace tessera

#include "tessera/base/end_header.inl"
