// SPDX-License-Identifier: Apache-2.0
// Bodies of gather.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/gather.hpp"

namespace tessera::reference::detail {

TESSERA_INLINE index_t rows_in::at(index_t n, index_t t, index_t c) const {
    const interval* d = region->dim;
    const index_t row = (n - d[0].begin) * d[1].size() + t - d[1].begin;
    return region->rank > 2 ? row * d[2].size() + c - d[2].begin : row;
}

} // namespace tessera::reference::detail

#include "tessera/base/end_header.inl"
