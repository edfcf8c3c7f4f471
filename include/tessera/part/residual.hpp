// SPDX-License-Identifier: Apache-2.0
// A way around parts of a network (He et al., "Deep Residual Learning for Image Recognition", 2016).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/network.hpp"
#include "tessera/op/add.hpp"

namespace tessera {

/// x + f(x), f being the parts in sequence.
template <class... Parts>
struct residual {
    static constexpr int op_count = 1 + detail::ops_in<Parts...>();
    template <int I>
    static constexpr auto nth() {
        return detail::nth_of<I, residual, Parts...>();
    }
    static constexpr int build(graph_builder& b, int tensor) {
        const int both[2] = {tensor, detail::append_all<Parts...>(b, tensor)};
        if (b.refused) {
            return -1;
        }
        const shape& x = b.tensors[tensor].extents;
        const shape& y = b.tensors[both[1]].extents;
        if (!(x == y)) {
            const int d = x.rank == y.rank ? detail::first_difference(x, y) : -1;
            return b.fail({rule::branch_changes_shape, 0, d < 0 ? -1 : static_cast<int>(op::dimension_name(d, x.rank)),
                           d < 0 ? y.rank : y[d], d < 0 ? x.rank : x[d]});
        }
        return b.add_op(add::attributes, "add", key_of<add>, false, both, 2);
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
