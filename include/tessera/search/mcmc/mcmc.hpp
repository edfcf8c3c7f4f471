// SPDX-License-Identifier: Apache-2.0
// FlexFlow's search (Jia, Zaharia and Aiken, MLSys 2019, section 6): Markov chains of Metropolis and Hastings over the configurations and
// placements of single operators, each proposal priced by delta simulation.
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
    /// Doubling its work has brought less than least_gain. If cost falls with the logarithm of work, ten times as much brings at most 3.3 times that.
    doubling,
};

struct mcmc_options {
    proposal_options proposals;
    /// A proposal that takes x longer than the present strategy is accepted with probability exp(-x / (temperature * present)). Relative,
    /// so that one value serves all networks and machines.
    double temperature = 0.01;
    /// What a gigabyte that moves between devices costs beside the time that it takes: of strategies that are about as fast, the one that moves less. 0: nothing, as in the
    /// paper. Costs are then ns per step and this price.
    double milliseconds_per_gigabyte = 0;
    std::int64_t budget = 10'000; ///< proposals of one chain
    stop_rule stop = stop_rule::flexflow;
    std::int64_t patience = 200; ///< at least so many proposals before a chain may stop early
    /// At least so much work before, with stop_rule::doubling. Work is counted in activities that the simulator works out, and for every proposal a sixteenth of all for
    /// what it costs besides. Unlike seconds it is the same on every machine, and unlike proposals it takes about as long in every network and
    /// for every number of devices.
    std::int64_t least_work = 1'000'000;
    double least_gain = 0.0025;         ///< that stop_rule::doubling asks for, relative
    std::int64_t most_work = INT64_MAX; ///< of one chain
    /// After so many proposals without anything better a chain goes on from its best. 0: never, as in the paper (its published code does so a hundred times in a
    /// search).
    std::int64_t return_after = 0;
    std::uint64_t seed = 1;
    lower_options lowering; ///< how the optimizer updates
    simulation::task_times times;

    /// Throws tessera::error for a price of bytes that is negative, over 1,000,000 ms per GB, or no number.
    void check() const {
        if (!(milliseconds_per_gigabyte >= 0 && milliseconds_per_gigabyte <= 1e6)) {
            throw error("tessera: a gigabyte between devices cannot cost " + fixed_text(milliseconds_per_gigabyte) +
                        " ms; give a price from 0 to 1000000");
        }
    }
    /// Of a step that takes so many ns and moves so many bytes; of a machine in equal parts (task_times::parts) those of one.
    index_t cost(index_t makespan, index_t moved_bytes) const {
        return makespan +
               static_cast<index_t>(static_cast<double>(moved_bytes) * times.parts * milliseconds_per_gigabyte * 1e-3);
    }
};

/// A strategy that was the best when it was found.
struct mcmc_improvement {
    index_t cost = 0; ///< see mcmc_options::cost
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
    std::int64_t work = 0; ///< see mcmc_options::least_work
    /// For stop_rule::doubling: from where the next doubling is counted, 0 before the first, and the best cost there, 0 after the last.
    std::int64_t mark_work = 0;
    index_t mark_cost = INT64_MAX;

    /// INT64_MAX while nothing that fits in memory has been seen.
    index_t best_cost() const { return improvements.empty() ? INT64_MAX : improvements.back().cost; }
    /// The budget is spent, or the rule says that more would be in vain.
    bool stopped(const mcmc_options& o) const {
        const bool idle =
            o.stop == stop_rule::flexflow ? made >= o.patience && made - improved_at > made / 2 : mark_cost == 0;
        return made >= o.budget || work >= o.most_work || idle;
    }
    /// With stop_rule::doubling: sees whether the work has doubled, and what that has brought.
    void mark(const mcmc_options& o) {
        const bool first = mark_work == 0 && 2 * made >= o.patience && 2 * work >= o.least_work;
        if (!first && (mark_work == 0 || work < 2 * mark_work)) {
            return;
        }
        const auto best = static_cast<double>(best_cost());
        const bool worth = first || improvements.empty() || static_cast<double>(mark_cost) - best > o.least_gain * best;
        mark_work = work;
        mark_cost = worth ? best_cost() : 0;
    }
};

/// One chain: can be run for a while, asked, and run again, also by another program; the same seed and the same budget give the same strategy.
class mcmc_chain {
public:
    static constexpr std::size_t most_improvements = 8;

    /// Starts from a strategy that keeps the rules. The cluster must outlive the chain. Throws what mcmc_options::check() throws.
    mcmc_chain(const graph_view& g, const cluster& on, const strategy& start, const mcmc_options& o)
        : mcmc_chain(g, on, first_state(start, o), o) {
        if (excess_ == 0) {
            state_.improvements.push_back({current_cost(), start});
        }
    }
    /// Goes on from where another chain was, with the same options.
    mcmc_chain(const graph_view& g, const cluster& on, const mcmc_state& from, const mcmc_options& o)
        : options_(o), simulated_(g, on, from.current, o.times, o.lowering), propose_(g, on, o.proposals),
          memory_(g, on, from.current, o.lowering.update.state_count()), state_(from), pick_{from.random} {
        o.check();
        excess_ = o.proposals.memory_limit ? memory_.excess() : 0;
    }

    /// Makes proposals until so many more have been made, or so much more work done, or the chain stops.
    void run(std::int64_t more, std::int64_t work = INT64_MAX) {
        const std::int64_t before = state_.work;
        for (std::int64_t i = 0; i < more && state_.work - before < work && !stopped(); ++i) {
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
    index_t current_cost() const { return options_.cost(simulated_.makespan(), simulated_.moved_bytes()); }
    std::int64_t made() const { return state_.made; }
    std::int64_t accepted() const { return state_.accepted; }
    std::int64_t improved_at() const { return state_.improved_at; }
    std::int64_t work() const { return state_.work; }
    std::size_t activities() const { return simulated_.activities(); }

private:
    static mcmc_state first_state(const strategy& start, const mcmc_options& o) {
        mcmc_state s;
        s.current = start;
        s.random = op::mix(o.seed);
        return s;
    }

    void step() {
        propose();
        if (options_.stop == stop_rule::doubling) {
            state_.mark(options_);
        }
    }

    void propose() {
        const std::int64_t idle = state_.made - state_.improved_at;
        if (options_.return_after > 0 && idle > 0 && idle % options_.return_after == 0 &&
            !state_.improvements.empty()) {
            go_to(state_.improvements.back().value);
        }
        ++state_.made;
        proposal p = proposal_space::in_stages_of(simulated_.current(), next());
        std::erase_if(p, [this](const change& x) { return x == change_of(simulated_.current(), x.op); });
        if (p.empty()) {
            return; // illegal, or nothing new: the chain stays where it is
        }
        state_.work += static_cast<std::int64_t>(simulated_.activities() / 16);
        const index_t now = current_cost();
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
        const index_t makespan = simulated_.propose(p, most);
        state_.work += static_cast<std::int64_t>(simulated_.visited());
        const index_t next = makespan > most ? makespan : options_.cost(makespan, simulated_.moved_bytes());
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

    /// Every other one is plain until all of those have come since the chain found something better.
    proposal next() {
        const proposal_options& o = options_.proposals;
        const std::int64_t number = (state_.made - 1) / 2;
        if (o.plain && o.groups && !o.only_blocks && state_.made % 2 == 1) {
            const plain_changes all(propose_, simulated_.current());
            if (number - state_.improved_at / 2 <= static_cast<std::int64_t>(all.size()) && all.size() > 0) {
                return all(static_cast<std::uint64_t>(number), options_.seed);
            }
        }
        return propose_.next(simulated_.current(), pick_);
    }

    void go_to(const strategy& there) {
        proposal p;
        for (int op = 0; op < static_cast<int>(there.ops.size()); ++op) {
            change x = change_of(there, op);
            if (!(x == change_of(simulated_.current(), op))) {
                p.push_back(static_cast<change&&>(x));
            }
        }
        if (p.empty()) {
            return;
        }
        const index_t bytes = memory_.excess_after(simulated_.current(), p);
        excess_ = options_.proposals.memory_limit ? bytes : 0;
        memory_.accept();
        simulated_.propose(p);
        state_.work += static_cast<std::int64_t>(simulated_.visited());
        simulated_.accept();
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
inline std::uint64_t seed_of(std::uint64_t seed, std::size_t chain) {
    return op::mix(seed + 0x9e3779b97f4a7c15ULL * (chain + 1));
}

/// A chain with what it is called and began with.
struct named_chain {
    std::string start;
    index_t start_cost = 0;
    mcmc_state state;
    /// Proposals and work when the round under way began for it; -1: it has not begun.
    std::int64_t round_made = -1;
    std::int64_t round_work = -1;
};

/// The best of several chains that fits in the devices' memory, simulated once more as a finished plan, whose figure is the cost. Where devices copy in turn
/// the waits of finished plans cost time that chains do not see, so that all that was best at some time is simulated so. Throws tessera::error if nothing fits.
inline mcmc_result best_of(const graph_view& g, const cluster& on, const std::vector<named_chain>& chains,
                           const mcmc_options& options) {
    mcmc_result result;
    const bool all = waits_count(on);
    index_t least = INT64_MAX; // as the chains price it
    for (const named_chain& c : chains) {
        const mcmc_state& s = c.state;
        result.chains.push_back({c.start, c.start_cost, s.best_cost(), s.made, s.accepted, s.improved_at});
        for (std::size_t k = s.improvements.size(); k-- > 0;) {
            const mcmc_improvement& candidate = s.improvements[k];
            if (!all && candidate.cost >= least) {
                break; // those before it cost more
            }
            const finished_step step = simulate_finished(g, on, candidate.value, options.times, options.lowering);
            const index_t cost = options.cost(step.makespan, step.moved_bytes);
            if (!(step.fits || !options.proposals.memory_limit)) {
                continue;
            }
            if (!all || cost < result.cost) {
                least = candidate.cost;
                result.cost = cost;
                result.priced = candidate.cost;
                result.best = candidate.value;
                result.start = c.start;
                result.is_start = k == 0 && candidate.cost == c.start_cost;
            }
            if (!all) {
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
inline mcmc_result mcmc(const graph_view& g, const cluster& on, const std::vector<named_strategy>& starts,
                        const mcmc_options& options = {}) {
    std::vector<named_chain> chains;
    for (const named_strategy& s : starts) {
        mcmc_options mine = options;
        mine.seed = seed_of(options.seed, chains.size());
        mcmc_chain chain(g, on, s.value, mine);
        chains.push_back({s.name, chain.current_cost(), {}});
        chain.run(options.budget);
        chains.back().state = chain.state();
    }
    return best_of(g, on, chains, options);
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
