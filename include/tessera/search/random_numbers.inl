// SPDX-License-Identifier: Apache-2.0
// Bodies of random_numbers.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/random_numbers.hpp"

namespace tessera::search {

TESSERA_INLINE int random_numbers::operator()(int n) {
    state = op::mix(state);
    return n < 2 ? 0 : static_cast<int>((state >> 33U) % static_cast<std::uint64_t>(n));
}

TESSERA_INLINE double random_numbers::number() {
    state = op::mix(state);
    return static_cast<double>(state >> 11U) * 0x1.0p-53;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
