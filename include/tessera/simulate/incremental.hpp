// SPDX-License-Identifier: Apache-2.0
// The heart of delta simulation: changes are proposed, simulated from the first difference on, and kept or undone.
#pragma once

#include "tessera/simulate/fragment_activities.hpp"
#include "tessera/simulate/least_work.hpp"

namespace tessera::simulation {

/// See delta_simulation, which it serves where operators can be lowered one by one.
class incremental_simulation : private fragment_activities {
public:
    /// Throws what operator_lowering throws. The cluster must outlive the object.
    incremental_simulation(const cluster& on, const graph_view& g, const strategy& s, const task_times& times,
                           const lower_options& o)
        : fragment_activities(on, g, s, times, o), least_(g, times.reached), measured_(times.measured != nullptr) {}

    index_t makespan() const { return schedule_.makespan(); }
    const strategy& current() const { return lowering_.current(); }
    const operator_lowering& lowered() const { return lowering_; }
    std::size_t activities() const { return alive_; }
    std::size_t visited() const { return refused_ ? 0 : schedule_.visited(); }

    index_t propose(const std::vector<change>& changes, index_t most) {
        refused_ = most < INT64_MAX && !measured_ && overloads(changes, most);
        if (refused_) {
            return INT64_MAX;
        }
        const std::vector<int>& touched = lowering_.propose(changes);
        undo_.clear();
        undo_.touched = touched;
        undo_.tiles = users_.writer.size();
        users_.resize(lowering_.tiles().size());
        altered_.clear();
        for (int f : touched) {
            take_out(f);
        }
        for (int f : touched) {
            put_in(f);
        }
        index_t first = INT64_MAX;
        for (const part_of_fragment& p : undo_.parts) {
            for (const placed& a : p.activities) {
                if (state_[at(a.activity)] == removed) {
                    undo_.freed.push_back(a.activity);
                    undo_.items.push_back({a.activity, schedule_.replace(a.activity, {})});
                    first = std::min(first, schedule_.time_of(a.activity).ready);
                    --alive_;
                }
            }
        }
        find_altered();
        return schedule_.run(std::min(first, first_difference()), altered_, alive_, every(), most);
    }
    void accept() {
        schedule_.accept();
        lowering_.accept();
        for (int a : relinked_) {
            previous_[at(a)] = schedule_.chains.previous(a);
        }
        for (int a : undo_.freed) {
            schedule_.leave(a);
            free_.push_back(a);
        }
        clear_states();
        if (lowering_.tiles().size() > 4 * tiles_at_start_ + 1000) { // tiles that nothing uses any more
            lowering_ = operator_lowering(lowering_.network(), compacted(lowering_.current()), on_.devices(), options_);
            rebuild();
        }
    }
    void reject() {
        if (refused_) {
            return;
        }
        lowering_.reject();
        schedule_.reject();
        for (int f : undo_.touched) {
            unregister(f);
            unlink(f);
        }
        for (std::size_t i = undo_.writers.size(); i-- > 0;) {
            users_.writer[at(undo_.writers[i].first)] = undo_.writers[i].second;
        }
        for (std::size_t i = undo_.items.size(); i-- > 0;) {
            schedule_.replace(undo_.items[i].first, static_cast<activity&&>(undo_.items[i].second));
        }
        for (std::size_t i = 0; i < undo_.touched.size(); ++i) {
            const int f = undo_.touched[i];
            fragments_[at(f)] = static_cast<part_of_fragment&&>(undo_.parts[i]);
            const part_of_fragment& mine = fragments_[at(f)];
            for (const auto& [tile, slot] : mine.reads) {
                users_.readers[at(tile)].push_back(slot);
            }
            for (const device_run& r : mine.runs) {
                schedule_.chains.link(f, r, relinked_);
            }
            for (std::size_t k = 0; k < mine.activities.size(); ++k) {
                schedule_.set_rank(mine.activities[k].activity, f, static_cast<int>(k));
            }
        }
        alive_ += undo_.freed.size();
        alive_ -= undo_.fresh.size();
        free_.insert(free_.end(), undo_.fresh.begin(), undo_.fresh.end());
        users_.writer.resize(undo_.tiles);
        users_.readers.resize(undo_.tiles);
        clear_states();
    }

    std::vector<task_span> spans() const {
        std::vector<task_span> all;
        for (int f = 0; f < lowering_.fragment_count(); ++f) {
            std::vector<task_span> mine(lowering_.part(f).tasks.size());
            for (const placed& p : fragments_[at(f)].activities) {
                const changing_schedule::timed& t = schedule_.new_time_of(p.activity);
                detail::add_span(mine, p.task, p.count, t.start, t.end);
            }
            all.insert(all.end(), mine.begin(), mine.end());
        }
        return all;
    }

private:
    /// True if a device certainly has more to compute after the changes than it may.
    bool overloads(const std::vector<change>& changes, index_t most) {
        work_ = schedule_.chains.work;
        for (const change& x : changes) {
            for (const int f : {x.op, lowering_.fragment_count() - 1 - x.op}) {
                for (const device_run& r : fragments_[at(f)].runs) {
                    work_[at(r.device)] -= r.work;
                }
            }
            least_.add(
                x, [this](int device) -> const device_class& { return on_.class_of(device); }, work_);
        }
        return *std::max_element(work_.begin(), work_.end()) > most;
    }

    least_work least_;
    bool measured_;
    bool refused_ = false;      ///< the last changes, before they were lowered
    std::vector<index_t> work_; ///< of every device, as it would at least be
};

} // namespace tessera::simulation
