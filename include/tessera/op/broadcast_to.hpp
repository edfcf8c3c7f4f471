// SPDX-License-Identifier: Apache-2.0
// Dimensions of extent 1 repeated.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/move.hpp"

namespace tessera::op {

struct broadcast_to_attributes {
    index_t extent[max_rank - 1] = {}; ///< of the output without its samples; -1: the input's
    index_t rank = 0;                  ///< how many are said
    static constexpr attribute_field fields[] = {{"extent", max_rank - 1, -1}, {"rank", 1, 0, max_rank - 1}};
};

/// The dimension of the input that is read along dimension `d` of the output, 0 or less where there is none: from the
/// right, as NumPy aligns shapes.
constexpr int broadcast_source(int d, int output_rank, int input_rank) {
    return d == 0 ? 0 : d - (output_rank - input_rank);
}

constexpr inferred infer_broadcast_to(const broadcast_to_attributes& a, const shape& x) {
    const int rank = static_cast<int>(a.rank) + 1;
    if (x.rank < 1 || x.rank > max_rank || rank < x.rank || rank < 2 || rank > max_rank) {
        return detail::refuse(rule::input_has_wrong_rank, x.rank, rank);
    }
    inferred r;
    r.output.rank = rank;
    for (int d = 0; d < rank; ++d) {
        const int from = broadcast_source(d, rank, x.rank);
        const index_t before = d > 0 && from < 1 ? 1 : x[from];
        const index_t wanted = d == 0 || (a.extent[d - 1] == -1 && from >= 1) ? before : a.extent[d - 1];
        if (wanted < 1) {
            return detail::refuse(rule::extent_is_zero, wanted, 1, name_of_dimension(d, rank));
        }
        if (before != 1 && before != wanted) {
            return detail::refuse(rule::broadcast_of_several, before, wanted, name_of_dimension(d, rank));
        }
        r.output.extent[d] = wanted;
    }
    return r;
}

/// Where the input has one element and the output several, its index is 0 whatever the loop.
constexpr description describe_broadcast_to(const broadcast_to_attributes& a, const shape& x) {
    const shape y = infer_broadcast_to(a, x).output;
    return describe_move(x, y, [&](int d) {
        const int k = d == 0 ? 0 : d + y.rank - x.rank;
        return x[d] == y[k] ? detail::describer::at(k) : affine{};
    });
}

inline constexpr op_record broadcast_to_record{
    .name = "broadcast_to",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_broadcast_to(a.as<broadcast_to_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_broadcast_to(a.as<broadcast_to_attributes>(), *x); },
    .own = list_of<broadcast_to_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::broadcast_to{&op::broadcast_to_record};

/// broadcast_to<64, 8, 8>: [N,64,1,1] -> [N,64,8,8]. The extents behind the samples, -1 for the input's own; extents of
/// 1 are repeated, and dimensions that the input lacks are put in front of its own, behind the samples: [N,C] ->
/// broadcast_to<T, -1> -> [N,T,C].
template <index_t... Extents>
struct broadcast_to {
    static_assert(sizeof...(Extents) < max_rank, "tessera: a tensor has at most 5 dimensions");
    static constexpr op_attributes attributes =
        attributes_of(op_kind::broadcast_to, op::broadcast_to_attributes{{Extents...}, sizeof...(Extents)});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
