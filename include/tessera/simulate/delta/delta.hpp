// SPDX-License-Identifier: Apache-2.0
// Delta simulation (FlexFlow, MLSys 2019, section 5.3): after a change of some operators' configurations only the tasks
// that it touches are lowered again, and time is simulated again only from the first difference. The timeline is bit
// for bit that of a full simulation.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/incremental.hpp"

#include "tessera/base/owned.hpp"

namespace tessera::simulation {

/// What operators cannot be lowered one by one for (clipping by the global norm, micro-batches, stages, recomputation,
/// communication streams, gradients from outside) is lowered and simulated as a whole at every change: slower, with the
/// same interface and results.
class delta_simulation {
public:
    /// The cluster must outlive the object. The strategy must keep the rules. Throws tessera::error for more devices
    /// than the cluster has.
    delta_simulation(const graph_view& g, const cluster& on, const strategy& s, const task_times& times = {},
                     const lower_options& o = {});

    /// False where every change is simulated as a whole.
    bool is_incremental() const { return static_cast<bool>(delta_); }
    index_t makespan() const { return delta_ ? delta_->makespan() : now_.what.makespan; }
    const strategy& current() const { return delta_ ? delta_->current() : now_.from; }
    std::size_t activities() const { return delta_ ? delta_->activities() : now_.what.tasks.size(); }
    /// Activities (in a whole simulation, tasks) that the last simulation worked out.
    std::size_t visited() const { return delta_ ? delta_->visited() : next_.what.tasks.size(); }
    /// That cross between devices in a step; after propose() of the strategy proposed.
    index_t moved_bytes() const;

    /// The makespan after changes of configurations, at most one for each operator; INT64_MAX, which may be found much
    /// sooner, if it is more than `most`. The new strategy must keep the rules. Afterwards accept(), unless it was more
    /// than `most`, or reject().
    index_t propose(const std::vector<change>& changes, index_t most = INT64_MAX);
    /// Of one operator, placed on the devices listed (empty: by its start and stride).
    index_t propose(int op, const configuration& c, const std::vector<int>& devices = {});
    void accept();
    void reject();

    /// When every task starts and ends, in the plan's order; after propose() of the strategy proposed.
    std::vector<task_span> spans() const { return delta_ ? delta_->spans() : (proposed_ ? next_ : now_).what.tasks; }

private:
    struct simulated {
        strategy from;
        timeline what;
        index_t moved_bytes = 0;
    };
    simulated whole(const strategy& s) const;

    const cluster& on_;
    graph_view g_;
    task_times times_;
    lower_options options_;
    owned<incremental_simulation> delta_;
    simulated now_;
    simulated next_;
    bool proposed_ = false;
};

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/delta/delta.inl"
#endif

#include "tessera/base/end_header.inl"
