// SPDX-License-Identifier: Apache-2.0
// Bodies of incremental.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/incremental.hpp"

#include <utility>

namespace tessera::simulation {

TESSERA_INLINE incremental_simulation::incremental_simulation(const cluster& on, const graph_view& g, const strategy& s,
                                                              const task_times& times, const lower_options& o)
    : on_(on), options_(o), lowering_(g, s, on.devices(), o), activities_(on, g, times), scheduled_(scheduled()),
      tiles_at_start_(lowering_.tiles().size()), least_(g, times.reached), measured_(times.measured != nullptr) {
    for (int op = 0; op < g.op_count; ++op) {
        at_least_.push_back(least_.of(change_of(s, op), on));
    }
}

TESSERA_INLINE index_t incremental_simulation::propose(const std::vector<change>& changes, index_t most) {
    touched_fragments all = lowering_.touched(changes);
    proposed_.clear();
    for (const change& x : changes) {
        proposed_.push_back({x.op, least_.of(x, on_)});
    }
    refused_ = most < INT64_MAX && !measured_ && overloads(all, most);
    if (refused_) {
        return INT64_MAX;
    }
    const std::vector<int>& touched = lowering_.propose(changes, std::move(all));
    begin_change(scheduled_, touched, lowering_.tiles().size());
    for (int f : touched) {
        take_out(scheduled_, f);
    }
    for (int f : touched) {
        put_in(scheduled_, lowering_, activities_, f);
    }
    const index_t gone = remove_gone(scheduled_);
    find_altered(scheduled_);
    return run(scheduled_, std::min(gone, first_difference(scheduled_)), most);
}

TESSERA_INLINE void incremental_simulation::accept() {
    lowering_.accept();
    keep(scheduled_);
    for (auto& [op, work] : proposed_) {
        at_least_[to_size(op)].swap(work);
    }
    if (lowering_.tiles().size() > 4 * tiles_at_start_ + 1000) { // tiles that nothing uses any more
        lowering_ = operator_lowering(lowering_.network(), compacted(lowering_.current()), on_.devices(), options_);
        scheduled_ = scheduled();
        tiles_at_start_ = lowering_.tiles().size();
    }
}

TESSERA_INLINE void incremental_simulation::reject() {
    if (!refused_) {
        lowering_.reject();
        restore(scheduled_);
    }
}

TESSERA_INLINE std::vector<task_span> incremental_simulation::spans() const {
    std::vector<task_span> all;
    for (int f = 0; f < lowering_.fragment_count(); ++f) {
        std::vector<task_span> mine(lowering_.part(f).tasks.size());
        for (const placed& p : scheduled_.fragments[to_size(f)].activities) {
            const changing_schedule::timed& t = scheduled_.schedule.new_time_of(p.activity);
            detail::add_span(mine, p.task, p.count, t.start, t.end);
        }
        all.insert(all.end(), mine.begin(), mine.end());
    }
    return all;
}

TESSERA_INLINE fragment_activities incremental_simulation::scheduled() {
    fragment_activities x(on_.devices(), activities_.lanes(), lowering_);
    for (int f = 0; f < lowering_.fragment_count(); ++f) {
        put_in(x, lowering_, activities_, f);
    }
    x.previous.assign(x.schedule.slots(), -1);
    run(x, 0, INT64_MAX);
    keep(x);
    return x;
}

TESSERA_INLINE index_t incremental_simulation::run(fragment_activities& x, index_t from, index_t most) {
    return x.schedule.run(from, x.altered, x.alive, x.every(), most);
}

TESSERA_INLINE bool incremental_simulation::overloads(const touched_fragments& touched, index_t most) {
    work_ = scheduled_.schedule.chains.work;
    for (int op = 0; op < lowering_.network().op_count; ++op) {
        const int backward = lowering_.fragment_count() - 1 - op; // touched where forward is
        if (!touched.contains(backward)) {
            continue;
        }
        for (const int f : {op, backward}) {
            for (const device_run& r : scheduled_.fragments[to_size(f)].runs) {
                work_[to_size(r.device)] -= r.work;
            }
        }
        if (touched.ops[to_size(op)] == 0) {
            add(at_least_[to_size(op)]);
        }
    }
    for (const auto& [op, work] : proposed_) {
        add(work);
    }
    return *std::max_element(work_.begin(), work_.end()) > most;
}

TESSERA_INLINE void incremental_simulation::add(const std::vector<device_work>& all) {
    for (const device_work& x : all) {
        work_[to_size(x.device)] += x.work;
    }
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
