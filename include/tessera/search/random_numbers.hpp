// SPDX-License-Identifier: Apache-2.0
// The numbers by which searches choose.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/mask.hpp"

namespace tessera::search {

/// Numbers that depend on the seed alone, on every machine.
struct random_numbers {
    std::uint64_t state = 1;
    /// In [0, n); 0 where n is less than 2.
    int operator()(int n) {
        state = op::mix(state);
        return n < 2 ? 0 : static_cast<int>((state >> 33U) % static_cast<std::uint64_t>(n));
    }
    /// In [0, 1).
    double number() {
        state = op::mix(state);
        return static_cast<double>(state >> 11U) * 0x1.0p-53;
    }
};

} // namespace tessera::search

#include "tessera/base/end_header.inl"
