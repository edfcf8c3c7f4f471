// SPDX-License-Identifier: Apache-2.0
// Bodies of record.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/record.hpp"

namespace tessera::search {

TESSERA_INLINE bool applies(const search_record& r, const graph_view& g, const cluster& on) {
    return r.applies == nullptr || r.applies(g, on);
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
