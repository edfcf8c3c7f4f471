// SPDX-License-Identifier: Apache-2.0
// Which search when: those that suit a network's size, the machine and the time that there is, one after the other, and
// the fastest of what they find by simulation, with its bound.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/search/certified/bound.hpp"
#include "tessera/search/searches.hpp"

#include <chrono>
#include <cstdio>
#include <vector>

namespace tessera::search {

struct best_options {
    /// No further search is begun after so many seconds, and those that can be interrupted end then; what is found
    /// depends on the machine's speed.
    double seconds = 60;
    bool pipelines = true; ///< also strategies with stages, micro-batches and policies
    lower_options lowering{};
    thread_pool threads{};
    bool bound = true;                              ///< of the result
    function_ref<void(std::string_view)> begins{};  ///< called with each search's name before it begins
    const std::atomic<bool>* interrupted = nullptr; ///< set: it ends with the best so far; null: nobody can
};

/// One search of several.
struct searched {
    std::string_view name;
    std::string refused{}; ///< why it found nothing; else empty
    strategy value{};
    finished_step step{};
    double seconds = 0;
};

struct best_result {
    std::vector<searched> all; ///< in the order in which they ran
    std::size_t chosen = 0;    ///< the fastest by simulation of those that fit, or of all where none fits
    strategy_bound bound{};    ///< of the chosen one

    const strategy& best() const { return all[chosen].value; }
};

/// The searches that suit, in the order in which they run: what takes moments first, so that there is always an answer.
///
/// - on one device there is nothing to search;
/// - strategies designed by hand;
/// - the certified optimum under the additive model, and Tofu, up to 64 devices; beyond, where tables of a device graph
///   take minutes, OptCNN with one choice for all operators of a kind;
/// - the exhaustive search for at most 8 operators on at most 4 devices;
/// - fit, which knows pipelines and policies, up to 64 devices; beyond, the grid search for repeated blocks;
/// - MCMC last, for as long as there is time, where operators times devices are at most 64,000.
std::vector<const search_record*> suited_searches(const graph_view& g, const cluster& on, const best_options& o);

namespace detail {

bool is_better(const searched& a, const searched& b);

} // namespace detail

/// The fastest strategy by simulation that the suited searches find in the time that there is, with its bound under the
/// additive model. Throws tessera::error where no search finds anything.
best_result best(const graph_view& g, const cluster& on, const best_options& o = {});

/// A line for each search, the chosen one marked, and its bound.
std::string to_text(const best_result& r);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/best.inl"
#endif

#include "tessera/base/end_header.inl"
