// SPDX-License-Identifier: Apache-2.0
// What of a chain is kept and what is made again, within a limit of memory: least time by dynamic programming over the
// chain's places (Chen et al. 2016, arXiv 1604.06174; several ways for each part as in Beaumont et al. 2019, arXiv
// 1911.13214, and Jain et al. 2020, arXiv 1910.02653).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/layout/piece.hpp"

#include <vector>

namespace tessera::search {

/// A part of a chain from place `first` to before place `last`, in one of the ways in which it can be done.
struct chain_part {
    int first = 0;
    int last = 0;
    index_t stored = 0; ///< bytes that it keeps from forward until backward has passed it
    index_t alive = 0;  ///< bytes of its own while backward passes it, those among them
    index_t time = 0;   ///< to make again what it has not kept
};

struct chain_choice {
    bool found = false;
    std::vector<int> parts; ///< which of those given, from the chain's first place to its last
    index_t time = 0;
    index_t peak = 0; ///< the most of what earlier parts store and of one part's alive together
};

/// The choice of parts, end to end from place 0 to place `places`, that takes least time of those whose peak is at most
/// `limit`; of equal ones that which stores less, then the one that comes first. Exact: for every place it keeps all
/// pairs of bytes stored and time of which no other has less of both. Throws tessera::error for parts that go nowhere.
chain_choice cheapest_chain(int places, const std::vector<chain_part>& parts, index_t limit);

/// The least limit for which there is a choice; -1: parts do not lead from one end to the other.
index_t least_chain_limit(int places, const std::vector<chain_part>& parts);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/recompute/chain.inl"
#endif

#include "tessera/base/end_header.inl"
