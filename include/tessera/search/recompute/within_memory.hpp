// SPDX-License-Identifier: Apache-2.0
// What a strategy recomputes so that it fits into memory and takes least time: dynamic programming over the network as a
// chain of blocks, held against the rules that people use, all of them simulated.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/by_hand/recomputed.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/search/recompute/chain.hpp"

#include <string>
#include <vector>

namespace tessera::search {

struct recompute_options {
    lower_options lowering{};
    simulation::task_times times{};
    index_t memory = 0; ///< bytes of every device; 0: what each has
    int longest = 8;    ///< stretches between two places that are made again together, at most
    int trials = 10;    ///< plans of chains that are simulated, at most
};

struct recompute_found {
    strategy best;
    std::string what;  ///< "chain", or a rule
    index_t step = 0;  ///< ns, simulated
    index_t bytes = 0; ///< of the device that needs most
    bool fits = false; ///< otherwise nothing does, and this needs least
    int simulated = 0; ///< plans
};

/// The network as a chain: places between operators, and the ways in which what lies between two of them can be done.
/// Bytes are those that one device stores of one micro-batch.
struct recompute_chain {
    std::vector<int> first;                   ///< operator at each place, in order; the last one is their number
    std::vector<chain_part> parts;            ///< see cheapest_chain()
    std::vector<std::vector<char>> recompute; ///< of each part, its operators from the first on

    int places() const { return static_cast<int>(first.size()) - 1; }
};

/// Places are the ends of repeated blocks, and in and beside them where one tensor alone leads on behind a product with
/// weights, or two products have come. What lies between two places, at most `longest` apart, may keep all, make again
/// what is cheap, or keep what leaves it alone.
recompute_chain chain_to_recompute(const graph_view& g, const strategy& s, const device_class& on, int longest);

/// The choice of what recomputes that takes least time of those that fit: nothing, the rules none, selective, full and
/// every:2, 3, ... (to about the root of the blocks), and those of least time on the chain for limits between its least
/// and that of keeping all, each simulated as a whole plan. The chain's choice is exact for the chain (see cheapest_chain()); what a plan needs besides
/// (parameters, copies, gradients on their way) is found by bisection. A strategy of several stages is held against
/// rules alone. Splits, stages and everything else stay as they are. The same call returns the same. Where nothing fits
/// the one of them that needs least.
recompute_found recompute_within(const graph_view& g, const cluster& on, const strategy& s,
                                 const recompute_options& o = {});

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/recompute/within_memory.inl"
#endif

#include "tessera/base/end_header.inl"
