// SPDX-License-Identifier: Apache-2.0
// The bound of a dual ascent in whole numbers: prices and messages are rounded to multiples of 2^-16, and everything
// after that is exact.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/certified/dual.hpp"

namespace tessera::search::detail {

__extension__ typedef __int128 wide; // sums of scaled costs, and of prices times bytes

/// No allowed choice that keeps to the limit costs less. Weak duality: for any prices >= 0 the least cost with prices,
/// less what the limit leaves times the prices, is a lower bound; and so is the sum of the least costs of all nodes and
/// links, however costs are moved between them.
std::int64_t certify(const reduced_problem& p, const split_graph& g, const dual_ascent& d);

} // namespace tessera::search::detail

#ifndef TESSERA_COMPILED
#include "tessera/search/certified/certify.inl"
#endif

#include "tessera/base/end_header.inl"
