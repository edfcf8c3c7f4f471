// SPDX-License-Identifier: Apache-2.0
// What there is to know of a search that is chosen by name, as one record: its file defines it, and nothing else names
// it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/function_ref.hpp"
#include "tessera/base/registry.hpp"
#include "tessera/machine/cluster.hpp"
#include "tessera/plan/lower/input.hpp"
#include "tessera/schedule/policy_record.hpp"
#include "tessera/schedule/record.hpp"
#include "tessera/search/by_hand/recomputed.hpp"
#include "tessera/search/offload/offload_of.hpp"
#include "tessera/search/thread_pool.hpp"

#include <atomic>
#include <string>

namespace tessera::search {

struct search_journal;

/// A strategy to start from, or to compare with.
struct named_strategy {
    std::string name;
    strategy value;
};

struct search_progress {
    std::int64_t made = 0;         ///< proposals of all chains, or simulations
    std::int64_t budget = 0;       ///< that may be made, an estimate where work is limited
    index_t best_cost = INT64_MAX; ///< see mcmc_options::cost; -1: not known
};

/// Called from time to time, by one thread at a time; empty: nobody wants to know.
using search_report = function_ref<void(const search_progress&)>;

/// What a search that is chosen by name is given besides a network and a machine.
struct search_options {
    option_values values{}; ///< of its record's options; of the schedule's and the policy's too
    lower_options lowering{};
    const schedule::schedule_record* schedule = nullptr; ///< of pipelines; null: the search's own choice
    const schedule::policy_record* policy = nullptr;     ///< null: the search's own choice
    int micro_batches = 0;                               ///< 1: a batch is not cut; 0: the search's own choice
    bool recompute = false;        ///< operators repeat forward instead of keeping results, stages at a time
    recompute_rule recomputed{};   ///< what the strategy that is found recomputes then; none: what the search says
    bool recompute_to_fit = false; ///< it recomputes as much as its plan needs to fit: recompute_within()
    bool offload_to_fit = false;   ///< it offloads as much as its plan needs to fit then: offload_within()
    offload_of offloads = offload_of::activations; ///< what may
    bool fuse = false; ///< plans are priced as sessions run them, with expressions fused: see search/fused.hpp
    thread_pool threads{};
    search_report report{};
    const std::atomic<bool>* interrupted = nullptr; ///< set: the search ends with the best so far; null: nobody can
    search_journal* journal = nullptr;              ///< for searches that go on from where they were left

    bool is_interrupted() const { return interrupted != nullptr && interrupted->load(); }
};

struct search_found {
    strategy best;
    std::string text{}; ///< for people: how it was found, and beside what
    index_t step = 0;   ///< ns of a step as the search estimates it, for machines too large to simulate; 0: it does not
    index_t most_bytes = 0; ///< of the device that needs most, by the same estimate
};

struct search_record {
    std::string_view name{};  ///< on command lines and in lists: unique
    std::string_view title{}; ///< in texts
    std::string_view about{};
    /// The strategy keeps the rules on the machine. Throws tessera::error where there is none.
    search_found (*run)(const graph_view&, const cluster&, const search_options&) = nullptr;
    option_row options[4] = {}; ///< those that have a name
    /// Whether it says something of its own on a machine, as a start or beside others; null: on any.
    bool (*applies)(const graph_view&, const cluster&) = nullptr;
    bool is_start = false;    ///< MCMC starts from it
    bool is_baseline = false; ///< what searches find is compared with it
    bool is_measured = false; ///< refine() measures it
    /// Schedule, micro-batches and recomputation are its own matter; what others find is given the last two.
    bool takes_all = false;
    bool weighs_policy = false; ///< against every gradient by itself; what others find is given it
    bool resumes = false;       ///< keeps a journal
    std::string_view unit{};    ///< what it reports the progress of; "": it reports nothing
    bool fixed_budget = false;  ///< the budget that it reports does not change
};

/// True where a search says something of its own on a machine.
bool applies(const search_record& r, const graph_view& g, const cluster& on);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/record.inl"
#endif

#include "tessera/base/end_header.inl"
