// SPDX-License-Identifier: Apache-2.0
// Bodies of walk.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/walk.hpp"

namespace tessera::reference::detail {

TESSERA_INLINE index_t stride_in(const box& region, int d) {
    index_t stride = 1;
    for (int k = region.rank - 1; k > d; --k) {
        stride *= region.dim[k].size();
    }
    return stride;
}

TESSERA_INLINE index_t place_in(const box& region, index_t i, index_t j, index_t k) {
    return ((i - region.dim[0].begin) * region.dim[1].size() + j - region.dim[1].begin) * region.dim[2].size() + k -
           region.dim[2].begin;
}

TESSERA_INLINE cursor place(const operand& o, const box& region) {
    cursor c;
    for (int k = 0; k < o.extents.rank; ++k) {
        if (o.dim[k].all) {
            continue;
        }
        const index_t stride = stride_in(region, k);
        c.base += (o.dim[k].offset - region.dim[k].begin) * stride;
        for (const affine::term& t : o.dim[k].terms) {
            c.step[t.loop] += t.coefficient * stride;
        }
    }
    return c;
}

} // namespace tessera::reference::detail

#include "tessera/base/end_header.inl"
