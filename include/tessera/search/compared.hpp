// SPDX-License-Identifier: Apache-2.0
// Never worse than the obvious, for searches that model costs: what was found is simulated beside what everybody knows,
// and the fastest is returned, by name.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/search/by_hand/hand_designed.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/strategy/change.hpp"

#include <cstdio>
#include <string>

namespace tessera::search {

struct compare_options {
    bool faithful =
        false; ///< to the paper: what the search found is returned in any case; shortfall() says what that costs
    bool memory_limit = true; ///< what does not fit in the devices' memory is returned only where nothing does
    simulation::task_times times{};
    lower_options lowering{};
};

/// A strategy simulated on a device graph, finished.
struct compared_strategy {
    std::string name;
    strategy value;
    finished_step step;
    std::string refused{}; ///< the rule that it breaks there
};

/// What a search found, and the baselines beside it.
struct compared_search {
    std::vector<compared_strategy> all; ///< what was found first, then the baselines
    std::size_t returned = 0;           ///< which of them is the result
    std::size_t fastest = 0;            ///< of those that can be returned; the same unless the search is faithful

    const compared_strategy& result() const { return all[returned]; }
    const strategy& best() const { return result().value; }
    /// ns by which what was found is slower than the fastest; 0 if it is that.
    index_t shortfall() const { return all[0].step.makespan - all[fastest].step.makespan; }
};

/// Simulates what a search found, the baselines among the strategies designed by hand that apply to the machine and, of
/// several nodes, data parallelism on one, and chooses. Throws tessera::error where what was found breaks a rule.
compared_search compare_with_baselines(const graph_view& g, const cluster& on, const std::string& name,
                                       const strategy& found, const compare_options& o = {});

/// Which was returned, and a line for each with its step.
std::string to_text(const compared_search& r);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/compared.inl"
#endif

#include "tessera/base/end_header.inl"
