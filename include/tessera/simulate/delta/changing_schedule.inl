// SPDX-License-Identifier: Apache-2.0
// Bodies of changing_schedule.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/changing_schedule.hpp"

#include <utility>

namespace tessera::simulation {

TESSERA_INLINE int changing_schedule::add_slot() {
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

TESSERA_INLINE activity changing_schedule::replace(int slot, activity&& what) {
    for (int p : items_[to_size(slot)].after) {
        std::vector<int>& list = successors_[to_size(p)];
        *std::find(list.begin(), list.end(), slot) = list.back();
        list.pop_back();
    }
    for (int p : what.after) {
        successors_[to_size(p)].push_back(slot);
    }
    for (const lane_use& u : items_[to_size(slot)].lanes) {
        lanes_[to_size(u.lane)].work -= u.meanwhile ? 0 : u.busy;
    }
    for (const lane_use& u : what.lanes) {
        lanes_[to_size(u.lane)].work += u.meanwhile ? 0 : u.busy; // what waits for no lane may end after everything
        excess_ = u.meanwhile ? excess_ : std::max(excess_, u.busy - what.duration);
    }
    std::swap(items_[to_size(slot)], what);
    return std::move(what);
}

TESSERA_INLINE std::size_t changing_schedule::before(index_t time) const {
    const auto place =
        std::partition_point(sequence_.begin(), sequence_.end(), [&](int a) { return now_[to_size(a)].ready < time; });
    return to_size(place - sequence_.begin());
}

TESSERA_INLINE void changing_schedule::accept() {
    sequence_.resize(to_size(keep_));
    ends_.resize(to_size(keep_));
    for (std::vector<lane_mark>& marks : history_) {
        while (!marks.empty() && marks.back().place >= keep_) {
            marks.pop_back();
        }
    }
    for (int a : fresh_sequence_) {
        const auto place = static_cast<int>(sequence_.size());
        place_[to_size(a)] = place;
        const timed& t = now_[to_size(a)] = trial_[to_size(a)];
        for (const lane_use& u : items_[to_size(a)].lanes) {
            std::vector<lane_mark>& marks = history_[to_size(u.lane)];
            const lane_mark before = marks.empty() ? lane_mark{} : marks.back();
            marks.push_back({place, (u.meanwhile ? std::max(before.free, t.start) : t.start) + u.busy,
                             before.idle + std::max<index_t>(0, t.start - before.free)});
        }
        sequence_.push_back(a);
        ends_.push_back(t.end);
    }
    makespan_ = new_makespan_;
    keep_ = nowhere;
    remember_paths();
}

TESSERA_INLINE bool changing_schedule::later(const waiting& a, const waiting& b) {
    return a.ready != b.ready ? a.ready > b.ready : a.rank > b.rank;
}

TESSERA_INLINE void changing_schedule::set_bounds() {
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
            const activity& x = items_[to_size(e.path[i])];
            if (!std::binary_search(x.after.begin(), x.after.end(), here)) {
                break;
            }
            e.least += x.duration;
            here = e.path[i];
        }
        too_long_ = too_long_ || chains.work[d] + e.least > most_;
    }
}

TESSERA_INLINE void changing_schedule::remember_paths() {
    for (std::size_t d = 0; d < after_.size(); ++d) {
        std::vector<int>& path = after_[d].path;
        path.clear();
        for (int a = chains.last(static_cast<int>(d)); a >= 0 && path.size() < 64;) {
            path.push_back(a);
            int latest = -1;
            for (int b : successors_[to_size(a)]) {
                latest = latest < 0 || now_[to_size(b)].end > now_[to_size(latest)].end ? b : latest;
            }
            a = latest;
        }
    }
}

TESSERA_INLINE void changing_schedule::meet(int a) {
    if (epoch_[to_size(a)] == run_) {
        return;
    }
    epoch_[to_size(a)] = run_;
    int waits = 0;
    index_t ready = 0;
    for_each_before(a, [&](int before) {
        if (is_kept(before)) {
            ready = std::max(ready, now_[to_size(before)].end);
        } else {
            ++waits;
        }
    });
    pending_[to_size(a)] = waits;
    trial_[to_size(a)].ready = ready;
}

TESSERA_INLINE void changing_schedule::push(int a) {
    heap_.push_back({trial_[to_size(a)].ready, rank_[to_size(a)], a});
    std::push_heap(heap_.begin(), heap_.end(), later);
}

TESSERA_INLINE void changing_schedule::begin(int a) {
    if (epoch_[to_size(a)] != run_ && !is_kept(a)) {
        meet(a);
        if (pending_[to_size(a)] == 0) {
            push(a);
        }
    }
}

TESSERA_INLINE void changing_schedule::resume(index_t from, const std::vector<int>& altered) {
    for (std::size_t i = 0; i < to_size(keep_); ++i) {
        if (ends_[i] < from) {
            continue;
        }
        const int a = sequence_[i];
        new_makespan_ = std::max(new_makespan_, now_[to_size(a)].end);
        for (int b : successors_[to_size(a)]) {
            begin(b);
        }
        if (items_[to_size(a)].device >= 0 && chains.next(a) >= 0) {
            begin(chains.next(a));
        }
    }
    for (int a : altered) {
        begin(a);
    }
}

TESSERA_INLINE void changing_schedule::start(int a) {
    const activity& x = items_[to_size(a)];
    timed& t = trial_[to_size(a)];
    index_t begins = t.ready;
    for (const lane_use& u : x.lanes) {
        begins = u.meanwhile ? begins : std::max(begins, lanes_[to_size(u.lane)].free);
    }
    for (const lane_use& u : x.lanes) {
        lane_state& l = lanes_[to_size(u.lane)];
        l.idle += std::max<index_t>(0, begins - l.free);
        l.free = (u.meanwhile ? std::max(l.free, begins) : begins) + u.busy;
        too_long_ = too_long_ || l.idle + l.work - excess_ > most_;
    }
    t.start = begins;
    t.end = begins + x.duration;
    too_long_ = too_long_ || t.end > most_;
    new_makespan_ = std::max(new_makespan_, t.end);
    fresh_sequence_.push_back(a);
    for (int b : successors_[to_size(a)]) {
        release(b, t.end);
    }
    if (x.device >= 0) {
        const int previous = chains.previous(a);
        t.idle = begins;
        if (previous >= 0) {
            const timed& p = new_time_of(previous);
            t.idle = p.idle + begins - p.end;
        }
        const auto device = to_size(x.device);
        too_long_ = too_long_ || t.idle + chains.work[device] + after_[device].least > most_;
        if (chains.next(a) >= 0) {
            release(chains.next(a), t.end);
        }
    }
}

TESSERA_INLINE void changing_schedule::release(int b, index_t time) {
    meet(b);
    trial_[to_size(b)].ready = std::max(trial_[to_size(b)].ready, time);
    if (--pending_[to_size(b)] == 0) {
        push(b);
    }
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
