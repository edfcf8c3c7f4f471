// SPDX-License-Identifier: Apache-2.0
// FlexFlow's search (Jia, Zaharia and Aiken, MLSys 2019, section 6): Markov chains of Metropolis and Hastings over the configurations and
// placements of single operators, each proposal priced by delta simulation.
#pragma once

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

/// One chain: can be run for a while, asked, and run again; the same seed and the same budget give the same strategy.
class mcmc_chain {
public:
    /// Starts from a strategy that keeps the rules. The cluster must outlive the chain.
    mcmc_chain(const cluster& on, const graph_view& g, const strategy& start, const mcmc_options& o)
        : options_(o), simulated_(on, g, start, o.times, o.lowering), propose_(on, g, o.proposals),
          memory_(on, g, start, o.lowering.update.state_count()), pick_{op::mix(o.seed)}, best_(simulated_.current()) {
        excess_ = o.proposals.memory_limit ? memory_.excess() : 0;
        best_cost_ = excess_ == 0 ? simulated_.makespan() : INT64_MAX;
    }

    /// Makes proposals until so many more have been made, or the chain stops.
    void run(std::int64_t more) {
        for (std::int64_t i = 0; i < more && !stopped(); ++i) {
            step();
        }
    }
    /// FlexFlow's rules: the budget is spent, or nothing better has been found during half of the search.
    bool stopped() const {
        return made_ >= options_.budget || (made_ >= options_.patience && made_ - improved_at_ > made_ / 2) ||
               propose_.operators() == 0;
    }

    const strategy& best() const { return best_; }
    /// ns per step; INT64_MAX while nothing that fits in memory has been seen.
    index_t best_cost() const { return best_cost_; }
    index_t current_cost() const { return simulated_.makespan(); }
    std::int64_t made() const { return made_; }
    std::int64_t accepted() const { return accepted_; }
    std::int64_t improved_at() const { return improved_at_; }
    std::int64_t visited() const { return visited_; }
    std::size_t activities() const { return simulated_.activities(); }

private:
    void step() {
        ++made_;
        const proposal p = propose_.next(simulated_.current(), pick_);
        if (p.op < 0) {
            return; // an illegal one: the chain stays where it is
        }
        const index_t now = simulated_.makespan();
        const index_t bytes = memory_.excess_after(simulated_.current(), p);
        const index_t excess = options_.proposals.memory_limit ? bytes : 0;
        const double bar = pick_.number();
        if (excess > excess_) {
            return;
        }
        const index_t next = simulated_.propose(p.op, p.what, p.devices);
        visited_ += static_cast<std::int64_t>(simulated_.visited());
        const bool relieves = excess < excess_;
        const double worse = static_cast<double>(next - now) / (static_cast<double>(now) * options_.temperature);
        if (relieves || worse <= 0 || bar < std::exp(-worse)) {
            simulated_.accept();
            memory_.accept();
            excess_ = excess;
            ++accepted_;
            if (excess_ == 0 && next < best_cost_) {
                best_cost_ = next;
                best_ = simulated_.current();
                improved_at_ = made_;
            }
        } else {
            simulated_.reject();
        }
    }

    mcmc_options options_;
    simulation::delta_simulation simulated_;
    proposer propose_;
    memory_estimate memory_;
    random_numbers pick_;
    strategy best_;
    index_t best_cost_ = 0;
    index_t excess_ = 0;
    std::int64_t made_ = 0;
    std::int64_t accepted_ = 0;
    std::int64_t improved_at_ = 0;
    std::int64_t visited_ = 0;
};

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

/// Runs a chain from every start, one after the other, and returns the best of all; never worse than a start that fits in memory. Chains are
/// independent: who has several cores runs mcmc_chain objects on them and takes the best. Throws tessera::error if nothing fits.
inline mcmc_result mcmc(const cluster& on, const graph_view& g, const std::vector<named_strategy>& starts,
                        const mcmc_options& options = {}) {
    mcmc_result result;
    std::uint64_t number = 0;
    for (const named_strategy& s : starts) {
        mcmc_options mine = options;
        mine.seed = op::mix(options.seed + 0x9e3779b97f4a7c15ULL * ++number);
        mcmc_chain chain(on, g, s.value, mine);
        const index_t before = chain.current_cost();
        chain.run(options.budget);
        result.chains.push_back(
            {s.name, before, chain.best_cost(), chain.made(), chain.accepted(), chain.improved_at()});
        if (chain.best_cost() < result.cost) {
            result.cost = chain.best_cost();
            result.best = chain.best();
            result.start = s.name;
        }
    }
    if (result.cost == INT64_MAX) {
        throw error("tessera: no strategy that fits in the devices' memory was found on the machine '" +
                    on.graph().name + "'; use more devices, a smaller batch, or a start that fits");
    }
    return result;
}

} // namespace tessera::search
