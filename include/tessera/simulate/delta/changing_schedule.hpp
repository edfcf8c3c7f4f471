// SPDX-License-Identifier: Apache-2.0
// Activities that come and go, and their schedule: after a change it is worked out again only from the first difference, and, if wanted, only until it is
// certain that it takes longer than it may. What is worked out equals scheduler's result bit for bit.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/device_chains.hpp"
#include "tessera/simulate/schedule.hpp"

namespace tessera::simulation {

/// The activities stand in numbered slots; whoever changes them keeps `items`, successors and chains in agreement (see replace() and device_chains).
class changing_schedule {
public:
    struct timed {
        index_t ready = 0;
        index_t start = 0;
        index_t end = 0;
        index_t idle = 0; ///< of its device, before it starts
    };

    changing_schedule(int devices, int lanes)
        : chains(devices), lanes_(at(lanes)), history_(at(lanes)), after_(at(devices)) {}

    const activity& item(int slot) const { return items_[at(slot)]; }
    /// As it was before the change under way.
    const timed& time_of(int slot) const { return now_[at(slot)]; }
    const timed& new_time_of(int slot) const { return is_kept(slot) ? now_[at(slot)] : trial_[at(slot)]; }
    index_t makespan() const { return makespan_; }
    std::size_t slots() const { return items_.size(); }
    std::size_t visited() const { return fresh_sequence_.size(); }

    int add_slot() {
        items_.emplace_back();
        successors_.emplace_back();
        now_.emplace_back();
        trial_.emplace_back();
        place_.push_back(nowhere);
        pending_.push_back(0);
        epoch_.push_back(0);
        rank_.push_back(0);
        chains.resize(items_.size());
        return static_cast<int>(items_.size()) - 1;
    }
    /// Puts an activity into a slot and gives back what was there.
    activity replace(int slot, activity&& what) {
        for (int p : items_[at(slot)].after) {
            std::vector<int>& list = successors_[at(p)];
            *std::find(list.begin(), list.end(), slot) = list.back();
            list.pop_back();
        }
        for (int p : what.after) {
            successors_[at(p)].push_back(slot);
        }
        for (const lane_use& u : items_[at(slot)].lanes) {
            lanes_[at(u.lane)].work -= u.busy;
        }
        for (const lane_use& u : what.lanes) {
            lanes_[at(u.lane)].work += u.busy;
            excess_ = std::max(excess_, u.busy - what.duration);
        }
        std::swap(items_[at(slot)], what);
        return static_cast<activity&&>(what);
    }
    /// The place in the given order: of a fragment, and within it.
    void set_rank(int slot, int fragment, int place) { rank_[at(slot)] = (std::int64_t{fragment} << 32) + place; }

    /// How many activities of the schedule become ready before `time`.
    std::size_t before(index_t time) const {
        const auto place =
            std::partition_point(sequence_.begin(), sequence_.end(), [&](int a) { return now_[at(a)].ready < time; });
        return static_cast<std::size_t>(place - sequence_.begin());
    }

    /// Calls `f` with all that an activity comes after: what it waits for, and the one before it on its device.
    template <class Function>
    void for_each_before(int slot, Function&& f) const {
        const activity& x = items_[at(slot)];
        for (int before : x.after) {
            f(before);
        }
        if (x.device >= 0 && chains.previous(slot) >= 0) {
            f(chains.previous(slot));
        }
    }

    /// Works the schedule out anew from a time before which nothing differs. `altered` are new activities and those that wait for others than before; `all`
    /// lists every activity, and `alive` says how many there are. Returns the makespan; INT64_MAX as soon as it is certain to be more than
    /// `most`: then accept() must not follow. Throws tessera::error if activities wait for each other.
    template <class All>
    index_t run(index_t from, const std::vector<int>& altered, std::size_t alive, const All& all,
                index_t most = INT64_MAX) {
        const std::size_t keep = before(from);
        keep_ = static_cast<int>(keep);
        ++run_;
        heap_.clear();
        fresh_sequence_.clear();
        new_makespan_ = 0;
        most_ = most;
        too_long_ = false;
        set_bounds();
        if (too_long_) {
            return INT64_MAX;
        }
        keep == 0 ? all([this](int a) { begin(a); }) : resume(from, altered);
        while (!heap_.empty()) {
            std::pop_heap(heap_.begin(), heap_.end(), later);
            const int a = heap_.back().which;
            heap_.pop_back();
            start(a);
            if (too_long_) {
                return INT64_MAX;
            }
        }
        if (fresh_sequence_.empty()) {
            for (std::size_t i = 0; i < keep; ++i) {
                new_makespan_ = std::max(new_makespan_, now_[at(sequence_[i])].end);
            }
        }
        if (keep + fresh_sequence_.size() != alive) {
            throw error("tessera: " + std::to_string(alive - keep - fresh_sequence_.size()) + " of " +
                        std::to_string(alive) +
                        " activities wait for each other; a plan that verify() accepts has no such circle");
        }
        return new_makespan_;
    }
    /// Keeps what run() worked out.
    void accept() {
        sequence_.resize(at(keep_));
        ends_.resize(at(keep_));
        for (std::vector<lane_mark>& marks : history_) {
            while (!marks.empty() && marks.back().place >= keep_) {
                marks.pop_back();
            }
        }
        for (int a : fresh_sequence_) {
            const auto place = static_cast<int>(sequence_.size());
            place_[at(a)] = place;
            const timed& t = now_[at(a)] = trial_[at(a)];
            for (const lane_use& u : items_[at(a)].lanes) {
                std::vector<lane_mark>& marks = history_[at(u.lane)];
                const lane_mark before = marks.empty() ? lane_mark{} : marks.back();
                marks.push_back({place, t.start + u.busy, before.idle + std::max<index_t>(0, t.start - before.free)});
            }
            sequence_.push_back(a);
            ends_.push_back(t.end);
        }
        makespan_ = new_makespan_;
        keep_ = nowhere;
        remember_paths();
    }
    /// Forgets it.
    void reject() { keep_ = nowhere; }
    /// A slot whose activity is gone.
    void leave(int slot) { place_[at(slot)] = nowhere; }

    device_chains chains;

private:
    struct waiting {
        index_t ready = 0;
        std::int64_t rank = 0;
        int which = 0;
    };
    static constexpr int nowhere = INT32_MAX;
    static bool later(const waiting& a, const waiting& b) {
        return a.ready != b.ready ? a.ready > b.ready : a.rank > b.rank;
    }
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }
    bool is_kept(int slot) const { return place_[at(slot)] < keep_; }

    struct lane_state {
        index_t work = 0; ///< ns that all activities use it
        index_t free = 0; ///< since when, as far as the run has come
        index_t idle = 0; ///< ns that nobody has used it until then
    };
    struct device_end {
        std::vector<int> path; ///< from the last activity of the device on, each waiting for the one before
        index_t least = 0;     ///< ns that follow that last activity at least
    };
    struct lane_mark {
        int place = -1;
        index_t free = 0;
        index_t idle = 0;
    };

    // ---- bounds: a device, or a lane, that has been idle for x takes at least x longer than all its work ---------------------------------

    void set_bounds() {
        for (std::size_t l = 0; l < lanes_.size(); ++l) {
            const std::vector<lane_mark>& marks = history_[l];
            const auto end =
                std::partition_point(marks.begin(), marks.end(), [&](const lane_mark& m) { return m.place < keep_; });
            const lane_mark last = end == marks.begin() ? lane_mark{} : *(end - 1);
            lanes_[l].free = last.free;
            lanes_[l].idle = last.idle;
            too_long_ = too_long_ || lanes_[l].idle + lanes_[l].work - excess_ > most_;
        }
        for (std::size_t d = 0; d < after_.size(); ++d) {
            device_end& e = after_[d];
            e.least = 0;
            int here = chains.last(static_cast<int>(d));
            if (here < 0 || e.path.empty() || here != e.path[0]) {
                continue;
            }
            for (std::size_t i = 1; i < e.path.size(); ++i) {
                const activity& x = items_[at(e.path[i])];
                if (!std::binary_search(x.after.begin(), x.after.end(), here)) {
                    break;
                }
                e.least += x.duration;
                here = e.path[i];
            }
            too_long_ = too_long_ || chains.work[d] + e.least > most_;
        }
    }
    /// For every device a way from its last activity to the end.
    void remember_paths() {
        for (std::size_t d = 0; d < after_.size(); ++d) {
            std::vector<int>& path = after_[d].path;
            path.clear();
            for (int a = chains.last(static_cast<int>(d)); a >= 0 && path.size() < 64;) {
                path.push_back(a);
                int latest = -1;
                for (int b : successors_[at(a)]) {
                    latest = latest < 0 || now_[at(b)].end > now_[at(latest)].end ? b : latest;
                }
                a = latest;
            }
        }
    }

    // ---- events ----------------------------------------------------------------------------------------------------------------------

    /// Counts what an activity still waits for, the first time that it is met.
    void meet(int a) {
        if (epoch_[at(a)] == run_) {
            return;
        }
        epoch_[at(a)] = run_;
        int waits = 0;
        index_t ready = 0;
        for_each_before(a, [&](int before) {
            if (is_kept(before)) {
                ready = std::max(ready, now_[at(before)].end);
            } else {
                ++waits;
            }
        });
        pending_[at(a)] = waits;
        trial_[at(a)].ready = ready;
    }
    void push(int a) {
        heap_.push_back({trial_[at(a)].ready, rank_[at(a)], a});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    void begin(int a) {
        if (epoch_[at(a)] != run_ && !is_kept(a)) {
            meet(a);
            pending_[at(a)] == 0 ? push(a) : void();
        }
    }
    /// What is ready when the kept beginning has ended: it waits for something that ends no earlier than the first difference, or is altered.
    void resume(index_t from, const std::vector<int>& altered) {
        for (std::size_t i = 0; i < at(keep_); ++i) {
            if (ends_[i] < from) {
                continue;
            }
            const int a = sequence_[i];
            new_makespan_ = std::max(new_makespan_, now_[at(a)].end);
            for (int b : successors_[at(a)]) {
                begin(b);
            }
            if (items_[at(a)].device >= 0 && chains.next(a) >= 0) {
                begin(chains.next(a));
            }
        }
        for (int a : altered) {
            begin(a);
        }
    }

    void start(int a) {
        const activity& x = items_[at(a)];
        timed& t = trial_[at(a)];
        index_t begins = t.ready;
        for (const lane_use& u : x.lanes) {
            begins = std::max(begins, lanes_[at(u.lane)].free);
        }
        for (const lane_use& u : x.lanes) {
            lane_state& l = lanes_[at(u.lane)];
            l.idle += std::max<index_t>(0, begins - l.free);
            l.free = begins + u.busy;
            too_long_ = too_long_ || l.idle + l.work - excess_ > most_;
        }
        t.start = begins;
        t.end = begins + x.duration;
        too_long_ = too_long_ || t.end > most_;
        new_makespan_ = std::max(new_makespan_, t.end);
        fresh_sequence_.push_back(a);
        for (int b : successors_[at(a)]) {
            release(b, t.end);
        }
        if (x.device >= 0) {
            const int previous = chains.previous(a);
            t.idle = begins;
            if (previous >= 0) {
                const timed& p = new_time_of(previous);
                t.idle = p.idle + begins - p.end;
            }
            const auto device = at(x.device);
            too_long_ = too_long_ || t.idle + chains.work[device] + after_[device].least > most_;
            if (chains.next(a) >= 0) {
                release(chains.next(a), t.end);
            }
        }
    }
    void release(int b, index_t time) {
        meet(b);
        trial_[at(b)].ready = std::max(trial_[at(b)].ready, time);
        if (--pending_[at(b)] == 0) {
            push(b);
        }
    }

    std::vector<activity> items_;
    std::vector<std::vector<int>> successors_;
    std::vector<std::int64_t> rank_;
    std::vector<timed> now_;
    std::vector<timed> trial_;
    std::vector<int> place_; ///< in sequence_
    std::vector<int> sequence_;
    std::vector<index_t> ends_; ///< by place
    std::vector<int> fresh_sequence_;
    std::vector<int> pending_;
    std::vector<int> epoch_;
    std::vector<lane_state> lanes_;
    std::vector<std::vector<lane_mark>> history_; ///< of every lane, by place in the sequence
    std::vector<device_end> after_;               ///< by device
    index_t excess_ = 0;                          ///< by which an activity may keep a lane longer than it lasts
    index_t most_ = INT64_MAX;
    bool too_long_ = false;
    std::vector<waiting> heap_;
    index_t makespan_ = 0;
    index_t new_makespan_ = 0;
    int keep_ = nowhere; ///< activities of the schedule that the last run left as they were
    int run_ = 0;
};

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
