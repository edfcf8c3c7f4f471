// SPDX-License-Identifier: Apache-2.0
// The optimum of contiguous splits: of those that put a network into a pipeline of devices without a way back, one with
// the least greatest load.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/search/mcmc/proposal_options.hpp"
#include "tessera/search/placement/contiguous_pieces.hpp"

namespace tessera::search::placement {

struct contiguous_options {
    std::size_t most_downsets = 2'000'000;    ///< of which tables are kept; with more there is no proof
    std::int64_t most_pairs = 20'000'000'000; ///< of downsets that are looked at: minutes
    int orders = 16;                          ///< topological orders whose best cuts are tried first
    std::uint64_t seed = 1;
};

struct contiguous_found {
    split devices;            ///< empty where there is none
    double load = 0;          ///< the greatest, as max_load gives it
    bool proved = false;      ///< no contiguous split is better; or, where there is none, that there is none
    double lower_bound = 0;   ///< of every split, contiguous or not; the load where it is proved
    std::size_t downsets = 0; ///< 0: too many to list
    std::int64_t pairs = 0;
    std::string why; ///< why there is none, and what would do
};

namespace detail {

/// An order of the blocks, edges forwards: 0 takes the lowest number that is free, 1 goes on from what came last,
/// others choose at random between these two.
std::vector<int> order_of_blocks(const split_blocks& b, int kind, random_numbers& pick);

/// More than any load.
double beyond(const split_problem& p);

/// Of problems without a CPU: what is in the way of every split.
std::string why_none(const split_problem& p, const split_blocks& b, const downsets& sets, const contiguous_options& o);

} // namespace detail

/// The best contiguous split. Throws tessera::error for a problem that is not sound (require). Where there is no split,
/// or none was found, `devices` is empty and `why` says so. The same problem and options give the same split.
contiguous_found contiguous_optimum(const split_problem& p, const contiguous_options& o = {});

} // namespace tessera::search::placement

#ifndef TESSERA_COMPILED
#include "tessera/search/placement/contiguous.inl"
#endif

#include "tessera/base/end_header.inl"
