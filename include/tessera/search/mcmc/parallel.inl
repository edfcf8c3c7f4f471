// SPDX-License-Identifier: Apache-2.0
// Bodies of parallel.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/mcmc/parallel.hpp"

namespace tessera::search {

TESSERA_INLINE parallel_search::parallel_search(const graph_view& g, const cluster& on,
                                                std::vector<named_strategy> starts, const parallel_search_options& o)
    : on_(on), g_(g), options_(o), begin_(seconds_now()) {
    o.chain.check();
    bool has_data_parallel = false;
    for (const named_strategy& s : starts) {
        has_data_parallel = has_data_parallel || s.name == "data parallel";
    }
    if (!has_data_parallel) {
        starts.insert(starts.begin(), {"data parallel", data_parallel(g, used(o))});
    }
    const proposer propose(g, on, o.chain.proposals);
    for (int i = 0; i < o.random_starts; ++i) {
        random_numbers pick{op::mix(o.chain.seed + 77 * static_cast<std::uint64_t>(i + 1))};
        starts.push_back({"random " + std::to_string(i + 1), propose.random_start(starts[0].value, pick)});
    }
    for (named_strategy& s : starts) {
        put_pins(s.value);
        require(g, s.value.view(), on.devices());
        named_chain c{s.name, 0, {}};
        c.state.current = s.value;
        c.state.random = op::mix(seed_of(o.chain.seed, state_.chains.size()));
        state_.chains.push_back(std::move(c));
    }
}

TESSERA_INLINE parallel_search::parallel_search(const graph_view& g, const cluster& on, search_state from,
                                                const parallel_search_options& o)
    : on_(on), g_(g), options_(o), state_(std::move(from)), begin_(seconds_now()) {
    o.chain.check();
    for (const named_chain& c : state_.chains) {
        require(g, c.state.current.view(), on.devices());
        for (const mcmc_improvement& i : c.state.improvements) {
            require(g, i.value.view(), on.devices());
        }
        made_ += c.state.made;
        work_ += c.state.work;
        best_ = std::min(best_, c.state.best_cost());
    }
}

TESSERA_INLINE void parallel_search::run_round(search_report report) {
    if (state_.round == 0 && options_.drop_slow_starts && !began()) {
        compare_starts(report);
    }
    const std::int64_t share = (options_.chain.budget - 1) / options_.rounds + 1;
    mutex reporting;
    left_ = false;
    options_.threads.run(state_.chains.size(), [&](std::size_t i) { advance(i, share, report, reporting); });
    if (left_) {
        return;
    }
    for (named_chain& c : state_.chains) {
        c.round_made = c.round_work = -1;
    }
    ++state_.round;
    state_.finished =
        state_.round >= options_.rounds || all_stopped() || (options_.seconds > 0 && elapsed() > options_.seconds);
    if (!state_.finished) {
        rejoin(options_.far_behind);
    }
}

TESSERA_INLINE mcmc_result parallel_search::run(search_report report,
                                                function_ref<void(const search_state&)> after_round) {
    while (!finished() && !interrupted()) {
        run_round(report);
        if (after_round) {
            after_round(state_);
        }
    }
    return result();
}

TESSERA_INLINE int parallel_search::used(const parallel_search_options& o) const {
    return o.chain.proposals.devices > 0 ? o.chain.proposals.devices : on_.devices();
}

TESSERA_INLINE bool parallel_search::began() const {
    return std::any_of(state_.chains.begin(), state_.chains.end(),
                       [](const named_chain& c) { return c.round_made >= 0; });
}

TESSERA_INLINE bool parallel_search::takes_part(std::size_t chain) const {
    return !options_.drop_slow_starts || options_.most_chains <= 0 || chain < to_size(options_.most_chains);
}

TESSERA_INLINE std::int64_t parallel_search::chains_that_search() const {
    std::int64_t n = 0;
    for (std::size_t i = 0; i < state_.chains.size(); ++i) {
        n += takes_part(i) ? 1 : 0;
    }
    return n;
}

TESSERA_INLINE void parallel_search::compare_starts(search_report report) {
    const mcmc_options& o = options_.chain;
    mutex reporting;
    options_.threads.run(state_.chains.size(), [&](std::size_t i) {
        named_chain& c = state_.chains[i];
        const plan p = lower(g_, c.state.current.view(), on_.devices(), o.lowering);
        c.start_cost = o.cost(simulation::simulate(g_, p, on_, o.times).makespan, p.moved_bytes);
        const memory_estimate needs(g_, on_, c.state.current, o.lowering.update.state_count());
        if (!o.proposals.memory_limit || needs.excess() == 0) {
            c.state.improvements.push_back({c.start_cost, c.state.current});
        }
        if (report) { // a sign of life
            const locked lock(reporting);
            best_ = std::min(best_, c.state.best_cost());
            report({made_, expected(), best_});
        }
    });
    std::vector<std::pair<index_t, std::size_t>> by_cost; // (std::stable_sort has deprecated parts in some libraries)
    for (std::size_t i = 0; i < state_.chains.size(); ++i) {
        by_cost.emplace_back(state_.chains[i].state.best_cost(), i);
    }
    std::sort(by_cost.begin(), by_cost.end());
    // What costs the same to the nanosecond is the same or its mirror image, and need not be searched from twice.
    std::vector<named_chain> distinct;
    std::vector<named_chain> again;
    for (const auto& [cost, number] : by_cost) {
        named_chain& c = state_.chains[number];
        bool known = false;
        for (std::size_t i = distinct.size(); i-- > 0 && !known;) {
            const mcmc_state& other = distinct[i].state;
            if (cost == INT64_MAX || cost != other.best_cost()) {
                break; // they are sorted
            }
            known = is_same_but_for_shards(c.state.current, other.current);
        }
        (known ? again : distinct).push_back(std::move(c));
    }
    state_.chains = std::move(distinct);
    for (named_chain& c : again) {
        state_.chains.push_back(std::move(c));
    }
    rejoin(options_.slow_start);
}

TESSERA_INLINE void parallel_search::put_pins(strategy& s) const {
    const std::vector<char>& pinned = options_.chain.proposals.pinned;
    for (std::size_t op = 0; op < pinned.size() && options_.pins != nullptr; ++op) {
        if (pinned[op] != 0) {
            apply(s, change_of(*options_.pins, static_cast<int>(op)));
        }
    }
}

TESSERA_INLINE void parallel_search::advance(std::size_t number, std::int64_t share, search_report report,
                                             mutex& reporting) {
    named_chain& mine = state_.chains[number];
    const bool first = mine.start_cost == 0;
    if (!takes_part(number) || (!first && mine.state.stopped(options_.chain))) {
        return;
    }
    if (mine.round_made < 0) {
        mine.round_made = mine.state.made;
        mine.round_work = mine.state.work;
    }
    mcmc_options o = options_.chain;
    o.seed = seed_of(options_.chain.seed, number);
    mcmc_chain chain = first ? mcmc_chain(g_, on_, mine.state.current, o) : mcmc_chain(g_, on_, mine.state, o);
    if (first) {
        mine.start_cost = chain.current_cost();
    }
    constexpr std::int64_t slice = 20;
    const std::int64_t last = mine.round_made + share;
    const std::int64_t most = options_.chain.most_work; // of the round's work; no overflow where there is no limit
    const std::int64_t work = most == INT64_MAX ? most : mine.round_work + most / options_.rounds + 1;
    while (chain.made() < last && chain.work() < work && !chain.stopped()) {
        if (options_.is_interrupted()) {
            left_ = true;
            break;
        }
        const std::int64_t before = chain.made();
        const std::int64_t worked = chain.work();
        chain.run(std::min(slice, last - before), work - worked);
        if (report) {
            const locked lock(reporting);
            made_ += chain.made() - before;
            work_ += chain.work() - worked;
            best_ = std::min(best_, chain.best_cost());
            report({made_, expected(), best_});
        }
    }
    mine.state = chain.state();
}

TESSERA_INLINE std::int64_t parallel_search::expected() const {
    const auto chains = static_cast<double>(chains_that_search());
    double all = chains * static_cast<double>(options_.chain.budget);
    if (options_.chain.most_work < INT64_MAX && work_ > 0) {
        all = std::min(all, chains * static_cast<double>(options_.chain.most_work) * static_cast<double>(made_) /
                                static_cast<double>(work_));
    }
    return std::max(made_, all < 9e18 ? static_cast<std::int64_t>(all) : INT64_MAX);
}

TESSERA_INLINE bool parallel_search::all_stopped() const {
    for (std::size_t i = 0; i < state_.chains.size(); ++i) {
        if (takes_part(i) && !state_.chains[i].state.stopped(options_.chain)) {
            return false;
        }
    }
    return true;
}

TESSERA_INLINE void parallel_search::rejoin(double far_behind) {
    const mcmc_state* best = nullptr;
    for (const named_chain& c : state_.chains) {
        best = best == nullptr || c.state.best_cost() < best->best_cost() ? &c.state : best;
    }
    if (best->improvements.empty()) {
        return;
    }
    const mcmc_improvement goal = best->improvements.back();
    for (named_chain& c : state_.chains) {
        if (static_cast<double>(c.state.best_cost()) > static_cast<double>(goal.cost) * (1 + far_behind)) {
            c.state.current = goal.value;
            c.state.improvements.resize(std::min<std::size_t>(c.state.improvements.size(), 1)); // the start stays
            c.state.improvements.push_back(goal);
            c.state.improved_at = c.state.made;
            c.state.mark_work = 0;
            c.state.mark_cost = INT64_MAX;
        }
    }
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
