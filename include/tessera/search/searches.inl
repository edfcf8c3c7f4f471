// SPDX-License-Identifier: Apache-2.0
// Bodies of searches.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/searches.hpp"

namespace tessera::search {

TESSERA_INLINE const search_record& search_named(std::string_view name, const std::string& advice) {
    return find_record(record_list(library_searches), name, "search", advice);
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
