// SPDX-License-Identifier: Apache-2.0
// Bodies of leaders.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/leaders.hpp"

namespace tessera::cuda {

TESSERA_INLINE kernel_launch leaders_launch(const tile& t) {
    const logit_rows rows(t.region);
    const kernels::row_numbers n{
        .samples = rows.samples, .columns = rows.classes, .plane = rows.plane, .first_class = rows.first_class};
    kernel_launch k = composer::make(kernels::row_leader, 2, kernel_numbers(n));
    k.type = t.type;
    k.blocks = to_int(rows.count());
    k.threads = composer::threads_for(rows.classes);
    return k;
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
