// SPDX-License-Identifier: Apache-2.0
// Bodies of route.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/route.hpp"

namespace tessera::reference::detail {

TESSERA_INLINE index_t place_in(const box& region, index_t i, index_t j, index_t k) {
    return ((i - region.dim[0].begin) * region.dim[1].size() + j - region.dim[1].begin) * region.dim[2].size() + k -
           region.dim[2].begin;
}

} // namespace tessera::reference::detail

#include "tessera/base/end_header.inl"
