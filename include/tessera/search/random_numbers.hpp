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
    int operator()(int n);
    /// In [0, 1).
    double number();
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/random_numbers.inl"
#endif

#include "tessera/base/end_header.inl"
