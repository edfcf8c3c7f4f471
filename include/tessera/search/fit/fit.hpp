// SPDX-License-Identifier: Apache-2.0
// Does it fit, and what is the fastest strategy that fits: schedules, numbers of micro-batches, stages, what is inside
// them, re-materialization and synchronization, under a memory limit, by simulation.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/finish.hpp"
#include "tessera/search/finished_step.hpp"
#include "tessera/search/fit/candidates.hpp"
#include "tessera/simulate/simulate.hpp"

namespace tessera::search {

/// A choice that has been lowered and simulated.
struct fit_row {
    fit_choice how;
    fit_guess guess;
    index_t step = 0;                ///< ns, simulated; of a plan of several steps, each one's share
    std::vector<index_t> peak_bytes; ///< of every device, as plan_memory() predicts them
    index_t most_bytes = 0;          ///< the largest of them
    bool fits = false;
    std::string refused; ///< the rule that it breaks, where it has no plan
};

struct fit_result {
    bool fits = false;
    strategy best; ///< the fastest that fits; where nothing does, the one that needs least
    fit_row row;   ///< what it is
    index_t smallest_memory =
        0;              ///< bytes of each device with which the least needy of all that was simulated would fit
    std::string reason; ///< where nothing fits: what is lacking, where
    std::int64_t considered = 0; ///< choices whose time and memory were estimated
    int simulated = 0;
    int refused = 0;           ///< of these; for another rule than memory
    bool ended = false;        ///< early, by fit_options::go_on
    std::vector<fit_row> rows; ///< simulated ones: those that fit first, then the fastest first
};

namespace detail {

class fit_search {
public:
    fit_search(const graph_view& g, const cluster& on, const fit_options& o);

    fit_result run();

private:
    // ---- simulation -------------------------------------------------------------------------------------------------

    /// What is simulated first is.
    bool may_go_on();

    /// Lowers and simulates a choice, unless that has been done.
    void simulate_choice(const fit_choice& x, const fit_guess& guess);

    plan lowered(const fit_choice& x);
    /// With what its simulation needs: waits are simulated only where devices copy in turn.
    plan planned(const fit_choice& x);

    strategy made(const fit_choice& x);

    /// What the result may not be worse than, where it fits: data parallelism, every other split over all devices, and
    /// one device, in as few micro-batches as may be.
    void simulate_baselines();
    void simulate_plain(int width, baseline inside);

    bool something_fits() const;

    /// The best of every kind of schedule, then the best; where half of them do not fit, those that need least.
    void simulate_best(const fit_candidates& from);

    // ---- refinement -------------------------------------------------------------------------------------------------

    /// From the best to its best neighbour, as long as there is a better one.
    void refine(int budget);

    static bool better(const fit_row& a, const fit_row& b);
    std::size_t best() const;

    // ---- the result -------------------------------------------------------------------------------------------------

    fit_result conclude();

    std::string lacking(const fit_result& r, const fit_row& row) const;

    graph_view g_;
    const cluster& on_;
    const fit_options& o_;
    fit_estimator estimate_;
    std::vector<index_t> limits_; ///< bytes of every device; 0: none
    index_t least_limit_ = 0;
    bool waits_ = false;
    bool ended_ = false; ///< by fit_options::go_on
    std::vector<fit_row> rows_;
    std::int64_t considered_ = 0;
};

} // namespace detail

/// The fastest strategy that fits in the devices' memory, of those that fit_options names; never
/// worse than data parallelism, than the other splits over all devices, or than one device, where these fit. All
/// choices are estimated; the best by the estimate are planned and simulated, and then their neighbours: step times and
/// peaks in the result are those of simulate() and plan_memory(), and a result that fits has been verified. Where
/// nothing fits, the result says what is lacking. Throws tessera::error for a network without operators, options that
/// leave nothing to choose from, and policies without a name or a function.
fit_result fit(const graph_view& g, const cluster& on, const fit_options& o = {});

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/fit/fit.inl"
#endif

#include "tessera/base/end_header.inl"
