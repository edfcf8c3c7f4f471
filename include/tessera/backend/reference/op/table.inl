// SPDX-License-Identifier: Apache-2.0
// Bodies of table.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/table.hpp"

namespace tessera::reference {

#ifdef TESSERA_COMPILED
template <class Real>
row_table<Real> detail::compiled_rows() {
    static constexpr auto rows = rows_among<operator_row<Real>, all_operators>(library_rows);
    return rows;
}
template row_table<float> detail::compiled_rows<float>();
template row_table<double> detail::compiled_rows<double>();
#endif

TESSERA_INLINE bool rounds_parameters(const op_record& record) {
    const operator_row<float>* const own = detail::own_row<float>(record);
    return own != nullptr ? own->rounds_parameters : detail::rounds_parameters(library_rows, record);
}

} // namespace tessera::reference

#include "tessera/base/end_header.inl"
