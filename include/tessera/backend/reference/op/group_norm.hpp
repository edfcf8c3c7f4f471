// SPDX-License-Identifier: Apache-2.0
// Group normalization.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/normalization.hpp"
#include "tessera/backend/reference/op/row.hpp"

namespace tessera::reference {

inline constexpr row_list group_norm_rows{
    row<op::group_norm_record, detail::row_norm_loops<op::group_norm_attributes>>{},
};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
