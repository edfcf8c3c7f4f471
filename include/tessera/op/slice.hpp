// SPDX-License-Identifier: Apache-2.0
// Indices [begin, begin + count) of one axis.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/elementwise.hpp"

namespace tessera::op {

struct slice_attributes {
    index_t begin = 0; ///< first index
    index_t out = 0;   ///< extent of the result
    index_t axis = -1; ///< the dimension; -1 for the channels
    static constexpr attribute_field fields[] = {{"begin"}, {"out", 1, 1}, {"axis", 1, -1, max_rank - 1}};
};

/// x -> its indices [begin, begin + out) along one axis.
constexpr description describe_slice(const slice_attributes& a, const shape& x) {
    const int axis = axis_of(a.axis, x.rank);
    detail::describer w;
    for (int d = 0; d < x.rank; ++d) {
        w.add_loop(dimension_name(d, x.rank), d == axis ? a.out : x[d]);
    }
    const int input = w.add_operand(operand_kind::input, 0);
    for (int d = 0; d < x.rank; ++d) {
        w.index(input, x[d], w.at(d, 1, d == axis ? a.begin : 0));
    }
    const int output = w.add_operand(operand_kind::output, 0);
    for (int d = 0; d < x.rank; ++d) {
        w.index(output, d == axis ? a.out : x[d], d);
    }
    w.d.linear = true;
    w.add_nest(w.all_loops(), bit(input), output, reducer::none, 0);
    return w.d;
}

constexpr inferred infer_slice(const slice_attributes& a, const shape& x) {
    inferred r = detail::infer_rank(x, 2, max_rank, a.out);
    const int axis = axis_of(a.axis, x.rank);
    if (r.refused || axis >= x.rank) {
        return r.refused ? r : detail::refuse(rule::input_has_wrong_rank, x.rank, axis + 1);
    }
    if (a.begin < 0 || a.begin + a.out > x[axis]) {
        return detail::refuse(rule::slice_outside_input, a.begin + a.out, x[axis],
                              static_cast<int>(dimension_name(axis, x.rank)));
    }
    r.output.extent[axis] = a.out;
    return r;
}

inline constexpr op_record slice_record{
    .name = "slice",
    .infer = [](const op_attributes& a, const shape* x, int) { return infer_slice(a.as<slice_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_slice(a.as<slice_attributes>(), *x); },
    .without_place =
        [](op_attributes a) {
            auto own = a.as<slice_attributes>();
            own.begin = 0;
            a.set(own);
            return a;
        },
    .own = list_of<slice_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::slice{&op::slice_record};

/// The attributes of slice<index, 1, axis<dimension>>, for an index that is a value.
constexpr op_attributes slice_at(index_t index, index_t dimension) {
    return attributes_of(op_kind::slice, op::slice_attributes{index, 1, dimension});
}

/// slice<begin, count, axis<>>: indices [Begin, Begin + Count) of the channels, or of another dimension.
template <index_t Begin, index_t Count, class... Options>
struct slice {
    static constexpr op_attributes attributes =
        detail::make_attributes<op_kind::slice, Options...>(op::slice_attributes{Begin, Count});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
