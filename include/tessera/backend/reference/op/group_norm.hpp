// SPDX-License-Identifier: Apache-2.0
// Group normalization.
#pragma once

#include "tessera/backend/reference/normalization.hpp"
#include "tessera/backend/reference/op/row.hpp"

namespace tessera::reference {

template <class Real>
inline constexpr operator_row<Real> group_norm_rows[] = {
    row_of<Real, detail::row_norm_loops<op::group_norm_attributes>>(op::group_norm_record),
};

} // namespace tessera::reference
