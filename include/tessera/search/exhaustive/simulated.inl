// SPDX-License-Identifier: Apache-2.0
// Bodies of simulated.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/exhaustive/simulated.hpp"

namespace tessera::search::detail {

TESSERA_INLINE block_enumeration::block_enumeration(const graph_view& g, const cluster& on, const strategy& start,
                                                    const proposal_options& o)
    : simulated_(g, on, start) {
    const proposer propose(g, on, o);
    for (std::size_t b = 0; b < propose.groups().blocks.size(); ++b) {
        choices_.push_back(propose.choices_of_block(b));
        result.space *= static_cast<double>(choices_.back().size());
    }
}

TESSERA_INLINE void block_enumeration::descend(std::size_t block) {
    const bool last = block + 1 == choices_.size();
    for (const proposal& p : choices_[block]) {
        ++result.simulated;
        const index_t found = simulated_.propose(p, last ? result.cost - 1 : INT64_MAX);
        if (!last) {
            simulated_.accept();
            descend(block + 1);
            continue;
        }
        if (found < result.cost) {
            result.cost = found;
            result.best = compacted(simulated_.current());
        }
        simulated_.reject();
    }
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE simulated_optimum simulate_all(const graph_view& g, const cluster& on, const strategy& start,
                                              const proposal_options& o) {
    detail::block_enumeration e(g, on, start, o);
    e.run();
    e.result.finished = e.result.cost < INT64_MAX ? simulate_finished(g, on, e.result.best).makespan : 0;
    return e.result;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
