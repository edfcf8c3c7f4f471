// SPDX-License-Identifier: Apache-2.0
// The heart of delta simulation: changes are proposed, simulated from the first difference on, and kept or undone.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/fragment_activities.hpp"
#include "tessera/simulate/delta/least_work.hpp"

namespace tessera::simulation {

/// See delta_simulation, which it serves where operators can be lowered one by one.
class incremental_simulation {
public:
    /// Throws what operator_lowering throws. The cluster must outlive the object.
    incremental_simulation(const cluster& on, const graph_view& g, const strategy& s, const task_times& times,
                           const lower_options& o);

    index_t makespan() const { return scheduled_.schedule.makespan(); }
    const strategy& current() const { return lowering_.current(); }
    const operator_lowering& lowered() const { return lowering_; }
    std::size_t activities() const { return scheduled_.alive; }
    std::size_t visited() const { return refused_ ? 0 : scheduled_.schedule.visited(); }

    index_t propose(const std::vector<change>& changes, index_t most);
    void accept();
    void reject();

    std::vector<task_span> spans() const;

private:
    /// The schedule of everything that is lowered.
    fragment_activities scheduled();
    static index_t run(fragment_activities& x, index_t from, index_t most);
    /// True if a device certainly has more to compute after the changes than it may: what they do not touch, and the
    /// least of what they do. (Neighbours keep their configurations, but what a device moves and adds up for them may
    /// end with the change.)
    bool overloads(const touched_fragments& touched, index_t most);
    void add(const std::vector<device_work>& all);

    const cluster& on_;
    lower_options options_;
    operator_lowering lowering_;
    task_activities activities_;
    fragment_activities scheduled_;
    std::size_t tiles_at_start_;
    least_work least_;
    bool measured_;
    std::vector<std::vector<device_work>> at_least_;                 ///< by operator
    std::vector<std::pair<int, std::vector<device_work>>> proposed_; ///< operators that change, and theirs then
    bool refused_ = false;                                           ///< the last changes, before they were lowered
    std::vector<index_t> work_;                                      ///< of every device, as it would at least be
};

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/delta/incremental.inl"
#endif

#include "tessera/base/end_header.inl"
