// SPDX-License-Identifier: Apache-2.0
// Bodies of program.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/nest/program.hpp"

namespace tessera::nests {

TESSERA_INLINE const program& program_of(const op_attributes& a, const description& d) {
    const int first = d.find_operand(operand_kind::input, 0);
    return *a.kind.record->generated->of_rank[d.operands[first].extents.rank];
}

} // namespace tessera::nests

#include "tessera/base/end_header.inl"
