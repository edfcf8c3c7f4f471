// SPDX-License-Identifier: Apache-2.0
// FlexFlow's search (Jia, Zaharia and Aiken, MLSys 2019, section 6): Markov chains of Metropolis and Hastings over the
// configurations and placements of single operators, each proposal priced by delta simulation.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/search/by_hand/hand_designed.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/search/mcmc/plain_changes.hpp"
#include "tessera/search/memory_estimate.hpp"
#include "tessera/simulate/delta/delta.hpp"

#include <cmath>

namespace tessera::search {

/// When a chain stops before its budget is spent.
enum class stop_rule : std::uint8_t {
    flexflow, ///< nothing better has been found during half of its proposals (FlexFlow, section 6)
    /// Doubling its work has brought less than least_gain. If cost falls with the logarithm of work, ten times as much
    /// brings at most 3.3 times that.
    doubling,
};

struct mcmc_options {
    proposal_options proposals;
    /// A proposal that takes x longer than the present strategy is accepted with probability exp(-x / (temperature *
    /// present)). Relative, so that one value serves all networks and machines.
    double temperature = 0.01;
    /// What a gigabyte that moves between devices costs beside the time that it takes: of strategies that are about as
    /// fast, the one that moves less. 0: nothing, as in the paper. Costs are then ns per step and this price.
    double milliseconds_per_gigabyte = 0;
    std::int64_t budget = 10'000; ///< proposals of one chain
    stop_rule stop = stop_rule::flexflow;
    std::int64_t patience = 200; ///< at least so many proposals before a chain may stop early
    /// At least so much work before, with stop_rule::doubling. Work is counted in activities that the simulator works
    /// out, and for every proposal a sixteenth of all for what it costs besides. Unlike seconds it is the same on every
    /// machine, and unlike proposals it takes about as long in every network and for every number of devices.
    std::int64_t least_work = 1'000'000;
    double least_gain = 0.0025;         ///< that stop_rule::doubling asks for, relative
    std::int64_t most_work = INT64_MAX; ///< of one chain
    /// After so many proposals without anything better a chain goes on from its best. 0: never, as in the paper (its
    /// published code does so a hundred times in a search).
    std::int64_t return_after = 0;
    std::uint64_t seed = 1;
    lower_options lowering; ///< how the optimizer updates
    simulation::task_times times;

    /// Throws tessera::error for a price of bytes that is negative, over 1,000,000 ms per GB, or no number.
    void check() const;
    /// Of a step that takes so many ns and moves so many bytes; of a machine in equal parts (task_times::parts) those
    /// of one.
    index_t cost(index_t makespan, index_t moved_bytes) const;
};

/// A strategy that was the best when it was found.
struct mcmc_improvement {
    index_t cost = 0; ///< see mcmc_options::cost
    strategy value;
};

/// Where a chain stands: all that it takes to go on.
struct mcmc_state {
    strategy current;
    /// The best and, in case it turns out not to be usable, those that were best before it, the latest last; the start
    /// stays among them if it fits in memory.
    std::vector<mcmc_improvement> improvements;
    std::uint64_t random = 1;
    std::int64_t made = 0;
    std::int64_t accepted = 0;
    std::int64_t improved_at = 0;
    std::int64_t work = 0; ///< see mcmc_options::least_work
    /// For stop_rule::doubling: from where the next doubling is counted, 0 before the first, and the best cost there, 0
    /// after the last.
    std::int64_t mark_work = 0;
    index_t mark_cost = INT64_MAX;

    /// INT64_MAX while nothing that fits in memory has been seen.
    index_t best_cost() const { return improvements.empty() ? INT64_MAX : improvements.back().cost; }
    /// The budget is spent, or the rule says that more would be in vain.
    bool stopped(const mcmc_options& o) const;
    /// With stop_rule::doubling: sees whether the work has doubled, and what that has brought.
    void mark(const mcmc_options& o);
};

/// One chain: can be run for a while, asked, and run again, also by another program; the same seed and the same budget
/// give the same strategy.
class mcmc_chain {
public:
    static constexpr std::size_t most_improvements = 8;

    /// Starts from a strategy that keeps the rules. The cluster must outlive the chain. Throws what
    /// mcmc_options::check() throws.
    mcmc_chain(const graph_view& g, const cluster& on, const strategy& start, const mcmc_options& o);
    /// Goes on from where another chain was, with the same options.
    mcmc_chain(const graph_view& g, const cluster& on, const mcmc_state& from, const mcmc_options& o);

    /// Makes proposals until so many more have been made, or so much more work done, or the chain stops.
    void run(std::int64_t more, std::int64_t work = INT64_MAX);
    bool stopped() const { return state_.stopped(options_) || propose_.operators() == 0; }
    mcmc_state state() const;

    /// The best, or the start while nothing that fits in memory has been seen.
    const strategy& best() const;
    const std::vector<mcmc_improvement>& improvements() const { return state_.improvements; }
    index_t best_cost() const { return state_.best_cost(); }
    index_t current_cost() const { return options_.cost(simulated_.makespan(), simulated_.moved_bytes()); }
    std::int64_t made() const { return state_.made; }
    std::int64_t accepted() const { return state_.accepted; }
    std::int64_t improved_at() const { return state_.improved_at; }
    std::int64_t work() const { return state_.work; }
    std::size_t activities() const { return simulated_.activities(); }

private:
    static mcmc_state first_state(const strategy& start, const mcmc_options& o);

    void step();

    void propose();

    /// Every other one is plain until all of those have come since the chain found something better.
    proposal next();

    void go_to(const strategy& there);

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
    index_t cost = INT64_MAX;   ///< see mcmc_options::cost; of the finished plan
    index_t priced = INT64_MAX; ///< the same as the chain saw it
    std::string start;          ///< from which the best chain began
    bool is_start = false;      ///< that is also the best: nothing faster was found
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

/// The seed of the chain of a number.
std::uint64_t seed_of(std::uint64_t seed, std::size_t chain);

/// A chain with what it is called and began with.
struct named_chain {
    std::string start;
    index_t start_cost = 0;
    mcmc_state state;
    /// Proposals and work when the round under way began for it; -1: it has not begun.
    std::int64_t round_made = -1;
    std::int64_t round_work = -1;
};

/// The best of several chains that fits in the devices' memory, simulated once more as a finished plan, whose figure is
/// the cost. Where devices copy in turn the waits of finished plans cost time that chains do not see, so that all that
/// was best at some time is simulated so. Throws tessera::error if nothing fits.
mcmc_result best_of(const graph_view& g, const cluster& on, const std::vector<named_chain>& chains,
                    const mcmc_options& options);

/// Runs a chain from every start, one after the other, and returns the best of all; never worse than a start that fits
/// in memory. On several cores, with progress and to be resumed: parallel_search. Throws tessera::error if nothing
/// fits.
mcmc_result mcmc(const graph_view& g, const cluster& on, const std::vector<named_strategy>& starts,
                 const mcmc_options& options = {});

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/mcmc/mcmc.inl"
#endif

#include "tessera/base/end_header.inl"
