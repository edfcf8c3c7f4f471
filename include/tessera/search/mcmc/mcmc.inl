// SPDX-License-Identifier: Apache-2.0
// Bodies of mcmc.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/mcmc/mcmc.hpp"

#include <utility>

namespace tessera::search {

TESSERA_INLINE void mcmc_options::check() const {
    if (!(milliseconds_per_gigabyte >= 0 && milliseconds_per_gigabyte <= 1e6)) {
        throw error("tessera: a gigabyte between devices cannot cost " + fixed_text(milliseconds_per_gigabyte) +
                    " ms; give a price from 0 to 1000000");
    }
}

TESSERA_INLINE index_t mcmc_options::cost(index_t makespan, index_t moved_bytes) const {
    return makespan +
           static_cast<index_t>(static_cast<double>(moved_bytes) * times.parts * milliseconds_per_gigabyte * 1e-3);
}

TESSERA_INLINE bool mcmc_state::stopped(const mcmc_options& o) const {
    const bool idle =
        o.stop == stop_rule::flexflow ? made >= o.patience && made - improved_at > made / 2 : mark_cost == 0;
    return made >= o.budget || work >= o.most_work || idle;
}

TESSERA_INLINE void mcmc_state::mark(const mcmc_options& o) {
    const bool first = mark_work == 0 && 2 * made >= o.patience && 2 * work >= o.least_work;
    if (!first && (mark_work == 0 || work < 2 * mark_work)) {
        return;
    }
    const auto best = static_cast<double>(best_cost());
    const bool worth = first || improvements.empty() || static_cast<double>(mark_cost) - best > o.least_gain * best;
    mark_work = work;
    mark_cost = worth ? best_cost() : 0;
}

TESSERA_INLINE mcmc_chain::mcmc_chain(const graph_view& g, const cluster& on, const strategy& start,
                                      const mcmc_options& o)
    : mcmc_chain(g, on, first_state(start, o), o) {
    if (excess_ == 0) {
        state_.improvements.push_back({current_cost(), start});
    }
}

TESSERA_INLINE mcmc_chain::mcmc_chain(const graph_view& g, const cluster& on, const mcmc_state& from,
                                      const mcmc_options& o)
    : options_(o), simulated_(g, on, from.current, o.times, o.lowering), propose_(g, on, o.proposals),
      memory_(g, on, from.current, o.lowering.update.state_count()), state_(from), pick_{from.random} {
    o.check();
    excess_ = o.proposals.memory_limit ? memory_.excess() : 0;
}

TESSERA_INLINE void mcmc_chain::run(std::int64_t more, std::int64_t work) {
    const std::int64_t before = state_.work;
    for (std::int64_t i = 0; i < more && state_.work - before < work && !stopped(); ++i) {
        step();
    }
}

TESSERA_INLINE mcmc_state mcmc_chain::state() const {
    mcmc_state s = state_;
    s.current = compacted(simulated_.current());
    s.random = pick_.state;
    return s;
}

TESSERA_INLINE const strategy& mcmc_chain::best() const {
    return state_.improvements.empty() ? simulated_.current() : state_.improvements.back().value;
}

TESSERA_INLINE mcmc_state mcmc_chain::first_state(const strategy& start, const mcmc_options& o) {
    mcmc_state s;
    s.current = start;
    s.random = op::mix(o.seed);
    return s;
}

TESSERA_INLINE void mcmc_chain::step() {
    propose();
    if (options_.stop == stop_rule::doubling) {
        state_.mark(options_);
    }
}

TESSERA_INLINE void mcmc_chain::propose() {
    const std::int64_t idle = state_.made - state_.improved_at;
    if (options_.return_after > 0 && idle > 0 && idle % options_.return_after == 0 && !state_.improvements.empty()) {
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

TESSERA_INLINE proposal mcmc_chain::next() {
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

TESSERA_INLINE void mcmc_chain::go_to(const strategy& there) {
    proposal p;
    for (int op = 0; op < static_cast<int>(there.ops.size()); ++op) {
        change x = change_of(there, op);
        if (!(x == change_of(simulated_.current(), op))) {
            p.push_back(std::move(x));
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

TESSERA_INLINE std::uint64_t seed_of(std::uint64_t seed, std::size_t chain) {
    return op::mix(seed + 0x9e3779b97f4a7c15ULL * (chain + 1));
}

TESSERA_INLINE mcmc_result best_of(const graph_view& g, const cluster& on, const std::vector<named_chain>& chains,
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

TESSERA_INLINE mcmc_result mcmc(const graph_view& g, const cluster& on, const std::vector<named_strategy>& starts,
                                const mcmc_options& options) {
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
