// SPDX-License-Identifier: Apache-2.0
// Bodies of dropout.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/dropout.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE void drop(const shard_call& s, op::dropped_unit unit, memory_use from, memory_use to) {
    const box tile = s.region_of(s.output());
    const shape& all = s.d.operands[s.output()].extents;
    kernels::dropout_numbers n{
        .extent = {1, 1, 1, 1, 1}, .op = s.call.op, .percent = s.attributes().as<op::dropout_attributes>().percent};
    index_t step = 1;
    for (int d = tile.rank - 1, k = 4; d >= 0; --d, --k) {
        n.extent[k] = tile.dim[d].size();
        n.origin[k] = tile.dim[d].begin;
        n.step[k] = unit == op::dropped_unit::element   ? step
                    : unit == op::dropped_unit::channel ? (d == 0   ? all[1]
                                                           : d == 1 ? 1
                                                                    : 0)
                    : d == 0                            ? 1
                                                        : 0;
        step *= all[d];
    }
    const kernels::dropout_reals reals{.scale = op::kept_scale(static_cast<int>(n.percent))};
    s.to.launch(kernels::dropout, {from, to}, kernel_numbers(n, reals), tile.volume(), true);
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
