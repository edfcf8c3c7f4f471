// SPDX-License-Identifier: Apache-2.0
// The dimensions of a tensor in another order.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/move.hpp"

namespace tessera::op {

struct permute_attributes {
    index_t order[max_rank] = {}; ///< which dimension of the input each of the output's is
    index_t rank = 0;             ///< how many are said
    static constexpr attribute_field fields[] = {{"order", max_rank, 0, max_rank - 1}, {"rank", 1, 0, max_rank}};
};

/// y's dimension k is x's dimension order[k].
constexpr description describe_permute(const permute_attributes& a, const shape& x) {
    shape y = x;
    int place[max_rank]{};
    for (int k = 0; k < x.rank; ++k) {
        y.extent[k] = x[static_cast<int>(a.order[k])];
        place[a.order[k]] = k;
    }
    return describe_move(x, y, [&](int d) { return detail::describer::at(place[d]); });
}

constexpr inferred infer_permute(const permute_attributes& a, const shape& x) {
    inferred r = infer_moved(x, 0);
    if (!r.refused && a.rank != x.rank) {
        return detail::refuse(rule::permutation_is_none, a.rank, x.rank);
    }
    std::uint32_t seen = 0;
    for (int k = 0; k < x.rank && !r.refused; ++k) {
        const index_t d = a.order[k];
        if (d < 0 || d >= x.rank || has(seen, static_cast<int>(d)) || (k == 0 && d != 0)) {
            return detail::refuse(rule::permutation_is_none, d, k == 0 ? 0 : x.rank - 1, name_of_dimension(k, x.rank));
        }
        seen |= bit(static_cast<int>(d));
        r.output.extent[k] = x[static_cast<int>(d)];
    }
    return r;
}

inline constexpr op_record permute_record{
    .name = "permute",
    .infer = [](const op_attributes& a, const shape* x, int) { return infer_permute(a.as<permute_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_permute(a.as<permute_attributes>(), *x); },
    .own = list_of<permute_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::permute{&op::permute_record};

/// permute<0, 2, 3, 1>: [N,C,H,W] -> [N,H,W,C]. Each dimension of the output, by its number in the input; the samples
/// stay first. Its loops have the names of the output's dimensions.
template <index_t... Order>
struct permute {
    static_assert(sizeof...(Order) <= max_rank, "tessera: a tensor has at most 5 dimensions");
    static constexpr op_attributes attributes =
        attributes_of(op_kind::permute, op::permute_attributes{{Order...}, sizeof...(Order)});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
