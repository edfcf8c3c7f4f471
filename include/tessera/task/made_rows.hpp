// SPDX-License-Identifier: Apache-2.0
// Rows of a backend that are made already, because they are compiled (tessera::compiled).
#pragma once
#include "tessera/base/begin_header.inl"

#include <span>
#include <vector>

namespace tessera {

/// Of rows that are made, those of the operators in a set.
template <class Set, class Value>
std::vector<const Value*> made_rows_among(std::span<const Value* const> all) {
    std::vector<const Value*> some;
    for (const Value* const row : all) {
        if (Set::has(*row->of)) {
            some.push_back(row);
        }
    }
    return some;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
