// SPDX-License-Identifier: Apache-2.0
// MCMC from several starts on the threads that are handed in. What is found depends on the options alone, not on the
// number of threads, and a search that was interrupted goes on from its state.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/clock.hpp"
#include "tessera/base/mutex.hpp"
#include "tessera/search/mcmc/mcmc.hpp"
#include "tessera/search/record.hpp"

#include <utility>

namespace tessera::search {

struct parallel_search_options {
    mcmc_options chain;  ///< budget, work and patience hold for each chain
    thread_pool threads; ///< that chains run on
    int rounds = 4;      ///< after each round the chains are compared
    double far_behind =
        0.02; ///< a chain whose best is so much worse than the best of all goes on from that one after a round
    double seconds = 0;    ///< no round begins after so many; 0: no limit (with one, what is found depends on the time)
    int random_starts = 1; ///< chains that begin with a configuration at random for every block
    /// Before the first round all starts are simulated, and chains whose start is so much worse than the best one begin
    /// from that instead.
    bool drop_slow_starts = false;
    double slow_start = 0.02;
    int most_chains = 0; ///< then only the best so many starts make proposals; 0: all
    /// Configurations of pinned operators (see proposal_options::pinned), put into every start; null: each start's own.
    const strategy* pins = nullptr;
    /// Set by another thread or a signal handler: no chain makes more proposals, and the state is such that a search
    /// goes on from it as if nothing had happened. Every start is priced all the same, so that there is a result. Null:
    /// nobody can interrupt.
    const std::atomic<bool>* interrupted = nullptr;

    bool is_interrupted() const { return interrupted != nullptr && interrupted->load(); }
};

/// A search under way as a value, see io/exchange/search_file.hpp.
struct search_state {
    std::vector<named_chain> chains;
    int round = 0;
    bool finished = false;
};

class parallel_search {
public:
    /// Data parallelism is added to the starts if none is called so. The cluster and the network must outlive the
    /// object. Throws what starts that break the rules throw.
    parallel_search(const graph_view& g, const cluster& on, std::vector<named_strategy> starts,
                    const parallel_search_options& o);
    /// Goes on with a search; options, network and machine must be the same. Throws tessera::error for a state of
    /// another network.
    parallel_search(const graph_view& g, const cluster& on, search_state from, const parallel_search_options& o);

    const search_state& state() const { return state_; }
    bool finished() const { return state_.finished; }
    /// A round was left unfinished because somebody asked for it (parallel_search_options::interrupted); the next goes
    /// on with it.
    bool interrupted() const { return left_; }

    /// Every chain makes its share of proposals, or what is left of it after an interruption; before the first the
    /// starts are compared if they are to be. `report`, if given, is called from time to time, by one thread at a time.
    void run_round(search_report report = {});
    /// Runs to the end, or until somebody interrupts; `after_round` may save the state.
    mcmc_result run(search_report report = {}, function_ref<void(const search_state&)> after_round = {});
    /// The best so far; never slower than data parallelism, if that fits in memory and the pins allow it. Throws
    /// tessera::error if nothing fits.
    mcmc_result result() const { return best_of(g_, on_, state_.chains, options_.chain); }

private:
    double elapsed() const { return seconds_now() - begin_; }

    int used(const parallel_search_options& o) const;

    /// The first round was begun before, and left.
    bool began() const;
    bool takes_part(std::size_t chain) const;
    std::int64_t chains_that_search() const;

    /// Sorts the chains by what their starts cost, those of a cost that was there before last, and gives those that are
    /// far behind the best one's.
    void compare_starts(search_report report);

    void put_pins(strategy& s) const;

    void advance(std::size_t number, std::int64_t share, search_report report, mutex& reporting);

    /// Proposals that all chains may make; where their work is limited, as many as that will be if they go on to cost
    /// what they did.
    std::int64_t expected() const;

    bool all_stopped() const;

    /// Chains that are far behind go on from the best.
    void rejoin(double far_behind);

    const cluster& on_;
    graph_view g_;
    parallel_search_options options_;
    search_state state_;
    double begin_;
    std::int64_t made_ = 0;
    std::int64_t work_ = 0;
    index_t best_ = INT64_MAX;
    std::atomic<bool> left_ = false; ///< a round before its end
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/mcmc/parallel.inl"
#endif

#include "tessera/base/end_header.inl"
