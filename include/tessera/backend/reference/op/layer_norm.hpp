// SPDX-License-Identifier: Apache-2.0
// Layer normalization.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/normalization.hpp"
#include "tessera/backend/reference/op/row.hpp"

namespace tessera::reference {

inline constexpr row_list layer_norm_rows{
    row<op::layer_norm_record, detail::row_norm_loops<op::layer_norm_attributes>>{},
};

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
