// SPDX-License-Identifier: Apache-2.0
// Bodies of row.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/row.hpp"

namespace tessera::host::detail {

TESSERA_INLINE void add_in_plain(const compute_call& c, format_table&, std::vector<candidate>& out) {
    out.push_back(in_format(c, format::plain));
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
