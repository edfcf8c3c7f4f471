// SPDX-License-Identifier: Apache-2.0
// Dimensions in the other direction.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/move.hpp"

namespace tessera::op {

struct flip_attributes {
    index_t turned[max_rank] = {}; ///< 1 for each dimension that is
    static constexpr attribute_field fields[] = {{"turned", max_rank, 0, 1}};
};

/// y[i] = x[extent - 1 - i].
constexpr description describe_flip(const flip_attributes& a, const shape& x) {
    return describe_move(x, x, [&](int d) {
        return a.turned[d] != 0 ? detail::describer::at(d, -1, x[d] - 1) : detail::describer::at(d);
    });
}

inline constexpr op_record flip_record{
    .name = "flip",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_moved(*x, last_said(a.as<flip_attributes>().turned)); },
    .describe = [](const op_attributes& a, const shape* x, int) { return describe_flip(a.as<flip_attributes>(), *x); },
    .own = list_of<flip_attributes>(),
};

constexpr flip_attributes flipped(std::initializer_list<int> dimensions) {
    flip_attributes a;
    for (const int d : dimensions) {
        a.turned[d] = 1;
    }
    return a;
}

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::flip{&op::flip_record};

/// flip<3>: [N,C,H,W] from right to left; flip<2, 3> turns images upside down as well.
template <int... Dimensions>
struct flip {
    static_assert(((Dimensions >= 1 && Dimensions < max_rank) && ...),
                  "tessera: samples are not flipped, and a tensor has at most 5 dimensions; flip 1 to 4");
    static constexpr op_attributes attributes = attributes_of(op_kind::flip, op::flipped({Dimensions...}));
};

} // namespace tessera

#include "tessera/base/end_header.inl"
