// SPDX-License-Identifier: Apache-2.0
// Bodies of compute_calls.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compute_calls.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE void count_not_finite(composer& to, const graph_view& g) {
    const task& t = to.what();
    const int rows = loss_rows_of(to.of(), g, t);
    kernels::loss_numbers n{.count = to.tile_at(rows).elements};
    for (const task& x : to.of().tasks) {
        if (x.nonfinite_count == t.nonfinite_count && x.kind() == task_kind::compute && x.what == pass::forward) {
            n.adds = &x == &t ? 0 : 1;
            break;
        }
    }
    kernel_launch k = composer::make(kernels::count_not_finite, 2, kernel_numbers(n));
    to.add(std::move(k), {to.read(rows), to.write(t.nonfinite_count)});
}

TESSERA_INLINE void compose_compute(composer& to, const graph_view& g, algorithm_table& algorithms) {
    const task& t = to.what();
    if (t.compute().fused) {
        return; // done by the call before it
    }
    const description d = g.describe(t.op);
    const compute_call c = call_of(to.of(), t, g, d);
    const operator_row& row = offered_row(g, t.op, t.what);
    const shard_call s{to, row, d, c, g, algorithms};
    to.type = s.type();
    row.composes(t.what)(s);
    if (t.what == pass::forward && t.nonfinite_count >= 0) {
        count_not_finite(to, g);
    }
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
