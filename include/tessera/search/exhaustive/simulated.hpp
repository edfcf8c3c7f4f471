// SPDX-License-Identifier: Apache-2.0
// The best of all strategies of a small space by the simulator: every block's configurations on every regular
// placement.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/finished_step.hpp"
#include "tessera/search/mcmc/proposals.hpp"
#include "tessera/search/record.hpp"
#include "tessera/simulate/delta/delta.hpp"

namespace tessera::search {

struct simulated_optimum {
    strategy best;
    index_t cost = INT64_MAX;   ///< ns per step, as plans come from lowering
    index_t finished = 0;       ///< of the best one's finished plan
    double space = 1;           ///< strategies
    std::int64_t simulated = 0; ///< strategies whose simulation began
};

namespace detail {

class block_enumeration {
public:
    block_enumeration(const graph_view& g, const cluster& on, const strategy& start, const proposal_options& o);
    void run() { descend(0); }
    simulated_optimum result;

private:
    void descend(std::size_t block);

    simulation::delta_simulation simulated_;
    std::vector<std::vector<proposal>> choices_; ///< by block
};

} // namespace detail

/// Tries every combination of the blocks' choices (see proposer::choices_of_block); all but the last block's are
/// simulated to their end, these only until they are known to be worse than the best.
simulated_optimum simulate_all(const graph_view& g, const cluster& on, const strategy& start,
                               const proposal_options& o = {});

inline constexpr option_row most_strategies_option{
    "most-strategies", "that the exhaustive search simulates; it refuses more", 1'000'000, 1, 1e9};

inline constexpr search_record exhaustive_record{
    .name = "exhaustive",
    .title = "exhaustive",
    .about = "every block's configurations on every regular placement, all simulated: for small networks",
    .run =
        [](const graph_view& g, const cluster& on, const search_options& o) {
            proposal_options space;
            space.only_blocks = space.only_regular = true;
            detail::block_enumeration e(g, on, data_parallel(g, on.devices()), space);
            if (e.result.space > o.values[most_strategies_option]) {
                throw error("there are " + std::to_string(static_cast<long long>(std::min(e.result.space, 1e18))) +
                            " strategies to simulate, more than " +
                            std::to_string(o.values.as<long long>(most_strategies_option)) +
                            "; use another search, a smaller network or fewer devices, or allow more");
            }
            e.run();
            if (e.result.cost == INT64_MAX) {
                throw error("no strategy of the exhaustive search keeps the rules");
            }
            return search_found{e.result.best};
        },
    .options = {most_strategies_option},
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/exhaustive/simulated.inl"
#endif

#include "tessera/base/end_header.inl"
