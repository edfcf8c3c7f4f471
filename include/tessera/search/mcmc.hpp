// SPDX-License-Identifier: Apache-2.0
// FlexFlow's search (Jia, Zaharia and Aiken, MLSys 2019, section 6): Markov chains of Metropolis and Hastings over the configurations and
// placements of single operators, each proposal priced by delta simulation.
#pragma once

#include "tessera/plan/memory.hpp"
#include "tessera/search/experts.hpp"
#include "tessera/search/memory_estimate.hpp"
#include "tessera/simulate/delta.hpp"

#include <cmath>

namespace tessera::search {

struct mcmc_options {
    proposal_options proposals;
    /// A proposal that takes x longer than the present strategy is accepted with probability exp(-x / (temperature * present)). Relative,
    /// so that one value serves all networks and machines.
    double temperature = 0.01;
    std::int64_t budget = 10'000; ///< proposals of one chain
    std::int64_t patience = 200;  ///< at least so many proposals before a chain may stop early
    std::uint64_t seed = 1;
    lower_options lowering; ///< how the optimizer updates
    simulation::task_times times;
};

/// A strategy that was the best when it was found.
struct mcmc_improvement {
    index_t cost = 0; ///< ns per step
    strategy value;
};

/// Where a chain stands: all that it takes to go on.
struct mcmc_state {
    strategy current;
    /// The best and, in case it turns out not to be usable, those that were best before it, the latest last; the start stays among them if it
    /// fits in memory.
    std::vector<mcmc_improvement> improvements;
    std::uint64_t random = 1;
    std::int64_t made = 0;
    std::int64_t accepted = 0;
    std::int64_t improved_at = 0;
    std::int64_t visited = 0; ///< activities worked out

    /// ns per step; INT64_MAX while nothing that fits in memory has been seen.
    index_t best_cost() const { return improvements.empty() ? INT64_MAX : improvements.back().cost; }
    /// FlexFlow's rules: the budget is spent, or nothing better has been found during half of the search.
    bool stopped(const mcmc_options& o) const {
        return made >= o.budget || (made >= o.patience && made - improved_at > made / 2);
    }
};

/// One chain: can be run for a while, asked, and run again, also by another program; the same seed and the same budget give the same strategy.
class mcmc_chain {
public:
    static constexpr std::size_t most_improvements = 8;

    /// Starts from a strategy that keeps the rules. The cluster must outlive the chain.
    mcmc_chain(const cluster& on, const graph_view& g, const strategy& start, const mcmc_options& o)
        : mcmc_chain(on, g, first_state(start, o), o) {
        if (excess_ == 0) {
            state_.improvements.push_back({simulated_.makespan(), start});
        }
    }
    /// Goes on from where another chain was, with the same options.
    mcmc_chain(const cluster& on, const graph_view& g, const mcmc_state& from, const mcmc_options& o)
        : options_(o), simulated_(on, g, from.current, o.times, o.lowering), propose_(on, g, o.proposals),
          memory_(on, g, from.current, o.lowering.update.state_count()), state_(from), pick_{from.random} {
        excess_ = o.proposals.memory_limit ? memory_.excess() : 0;
    }

    /// Makes proposals until so many more have been made, or the chain stops.
    void run(std::int64_t more) {
        for (std::int64_t i = 0; i < more && !stopped(); ++i) {
            step();
        }
    }
    bool stopped() const { return state_.stopped(options_) || propose_.operators() == 0; }
    mcmc_state state() const {
        mcmc_state s = state_;
        s.current = compacted(simulated_.current());
        s.random = pick_.state;
        return s;
    }

    /// The best, or the start while nothing that fits in memory has been seen.
    const strategy& best() const {
        return state_.improvements.empty() ? simulated_.current() : state_.improvements.back().value;
    }
    const std::vector<mcmc_improvement>& improvements() const { return state_.improvements; }
    index_t best_cost() const { return state_.best_cost(); }
    index_t current_cost() const { return simulated_.makespan(); }
    std::int64_t made() const { return state_.made; }
    std::int64_t accepted() const { return state_.accepted; }
    std::int64_t improved_at() const { return state_.improved_at; }
    std::int64_t visited() const { return state_.visited; }
    std::size_t activities() const { return simulated_.activities(); }

private:
    static mcmc_state first_state(const strategy& start, const mcmc_options& o) {
        mcmc_state s;
        s.current = start;
        s.random = op::mix(o.seed);
        return s;
    }

    void step() {
        ++state_.made;
        const proposal p = propose_.next(simulated_.current(), pick_);
        if (p.empty()) {
            return; // an illegal one: the chain stays where it is
        }
        const index_t now = simulated_.makespan();
        const index_t bytes = memory_.excess_after(simulated_.current(), p);
        const index_t excess = options_.proposals.memory_limit ? bytes : 0;
        const double bar = pick_.number();
        if (excess > excess_) {
            return;
        }
        // Accepted is what brings the memory down, what is no slower, and what is slower by less than the bar allows.
        index_t most = INT64_MAX - 1;
        if (excess == excess_) {
            const double slower = static_cast<double>(now) * -options_.temperature * std::log(bar);
            most = slower < 4e18 ? now + static_cast<index_t>(slower) : most;
        }
        const index_t next = simulated_.propose(p, most);
        state_.visited += static_cast<std::int64_t>(simulated_.visited());
        if (next > most) {
            simulated_.reject();
            return;
        }
        simulated_.accept();
        memory_.accept();
        excess_ = excess;
        ++state_.accepted;
        if (excess_ == 0 && next < best_cost()) {
            state_.improved_at = state_.made;
            if (state_.improvements.size() == most_improvements) { // the start stays
                state_.improvements.erase(state_.improvements.begin() + 1);
            }
            state_.improvements.push_back({next, compacted(simulated_.current())});
        }
    }

    mcmc_options options_;
    simulation::delta_simulation simulated_;
    proposer propose_;
    memory_estimate memory_;
    mcmc_state state_; ///< but for the current strategy and the random numbers
    random_numbers pick_;
    index_t excess_ = 0;
};

/// What a search found, and what its chains did.
struct mcmc_result {
    strategy best;
    index_t cost = INT64_MAX; ///< ns per step
    std::string start;        ///< from which the best chain began
    struct chain {
        std::string start;
        index_t start_cost = 0;
        index_t cost = 0;
        std::int64_t made = 0;
        std::int64_t accepted = 0;
        std::int64_t improved_at = 0;
    };
    std::vector<chain> chains;
};

/// True if the plan of a strategy, with all that is gathered and on its way, fits in the devices' memory.
inline bool fits(const cluster& on, const graph_view& g, const strategy& s, const lower_options& o = {}) {
    plan p = lower(g, s.view(), on.devices(), o);
    plan_memory(p);
    for (int d = 0; d < on.devices(); ++d) {
        const index_t limit = on.class_of(d).memory_bytes;
        const auto at = static_cast<std::size_t>(d);
        if (limit > 0 && p.arena_bytes[at] + p.persistent_bytes[at] > limit) {
            return false;
        }
    }
    return true;
}

/// The seed of the chain of a number.
inline std::uint64_t seed_of(std::uint64_t seed, std::size_t chain) {
    return op::mix(seed + 0x9e3779b97f4a7c15ULL * (chain + 1));
}

/// A chain with what it is called and began with.
struct named_chain {
    std::string start;
    index_t start_cost = 0;
    mcmc_state state;
};

/// The best of several chains that fits in the devices' memory. Throws tessera::error if nothing does.
inline mcmc_result best_of(const cluster& on, const graph_view& g, const std::vector<named_chain>& chains,
                           const mcmc_options& options) {
    mcmc_result result;
    for (const named_chain& c : chains) {
        const mcmc_state& s = c.state;
        result.chains.push_back({c.start, c.start_cost, s.best_cost(), s.made, s.accepted, s.improved_at});
        for (std::size_t k = s.improvements.size(); k-- > 0 && s.improvements[k].cost < result.cost;) {
            if (!options.proposals.memory_limit || fits(on, g, s.improvements[k].value, options.lowering)) {
                result.cost = s.improvements[k].cost;
                result.best = s.improvements[k].value;
                result.start = c.start;
                break;
            }
        }
    }
    if (result.cost == INT64_MAX) {
        throw error("tessera: no strategy that fits in the devices' memory was found on the machine '" +
                    on.graph().name + "'; use more devices, a smaller batch, or a start that fits");
    }
    return result;
}

/// Runs a chain from every start, one after the other, and returns the best of all; never worse than a start that fits in memory. On several
/// cores, with progress and to be resumed: parallel_search. Throws tessera::error if nothing fits.
inline mcmc_result mcmc(const cluster& on, const graph_view& g, const std::vector<named_strategy>& starts,
                        const mcmc_options& options = {}) {
    std::vector<named_chain> chains;
    for (const named_strategy& s : starts) {
        mcmc_options mine = options;
        mine.seed = seed_of(options.seed, chains.size());
        mcmc_chain chain(on, g, s.value, mine);
        chains.push_back({s.name, chain.current_cost(), {}});
        chain.run(options.budget);
        chains.back().state = chain.state();
    }
    return best_of(on, g, chains, options);
}

} // namespace tessera::search
