// SPDX-License-Identifier: Apache-2.0
// The choices of fit() with their stages: cut in every way or balanced, estimated, and in the order in which they
// promise most.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/fit/estimate.hpp"

namespace tessera::search::detail {

/// A choice and what it is guessed to take.
struct fit_candidate {
    fit_choice how;
    fit_guess guess;
};

class fit_candidates {
public:
    /// A choice without its way to exchange, and that way.
    struct candidate {
        std::size_t base = 0;
        const schedule::policy_record* policy = nullptr;
        bool overlap = false;
        fit_guess guess;
    };
    std::vector<fit_choice> bases;
    std::vector<candidate> all;
    std::vector<std::size_t> by_time;   ///< the best of each base first, of these what seems to fit, then the fastest
    std::vector<std::size_t> by_memory; ///< what needs least first
    int seems_to_fit = 0;               ///< so many of the first by time

    /// `limit`: bytes of the device that has least; 0: none. Where `go_on` says no, those so far are all.
    fit_candidates(const graph_view& g, const cluster& on, index_t limit, bool serial, const fit_options& o,
                   fit_estimator& estimate, function_ref<bool()> go_on);

    fit_choice choice(std::size_t i) const;

private:
    bool too_large(const fit_guess& x) const { return limit_ > 0 && x.bytes > limit_; }

    template <class Key>
    void order(std::vector<std::size_t>& list, const Key& key) const {
        std::sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) {
            const auto x = key(all[a].guess);
            const auto y = key(all[b].guess);
            return x != y ? x < y : a < b;
        });
    }

    /// All cuts where they are few; otherwise the fastest within memory, the fastest at all, and the one that needs
    /// least.
    std::vector<std::vector<int>> cuts_of(const fit_choice& x);

    graph_view g_;
    const fit_options& o_;
    fit_estimator& estimate_;
    index_t limit_;
    std::vector<std::pair<schedule::settings, std::vector<int>>>
        flights_; ///< most in flight on every worker, by schedule
};

/// True where no stage is empty.
bool fills_all(const std::vector<int>& stage, int stages);

/// Neighbours of a choice: one stage begins an operator earlier or later, or is split otherwise; a worker gives a
/// device to another; what devices share is exchanged otherwise.
std::vector<fit_choice> neighbours_of(const graph_view& g, const fit_choice& x, const fit_options& o, bool serial);

} // namespace tessera::search::detail

#ifndef TESSERA_COMPILED
#include "tessera/search/fit/candidates.inl"
#endif

#include "tessera/base/end_header.inl"
