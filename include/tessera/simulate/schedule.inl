// SPDX-License-Identifier: Apache-2.0
// Bodies of schedule.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/schedule.hpp"

namespace tessera::simulation {

TESSERA_INLINE void schedule::resize(std::size_t n) {
    ready.resize(n, 0);
    start.resize(n, 0);
    end.resize(n, 0);
}

TESSERA_INLINE scheduler::scheduler(int devices, int lanes)
    : last_(to_size(devices)), free_(to_size(lanes)), queues_(to_size(lanes)) {}

TESSERA_INLINE void scheduler::run(const std::vector<activity>& items, const std::vector<int>& order, schedule& s,
                                   std::size_t keep) {
    const std::size_t n = items.size();
    s.resize(n);
    rank_.resize(n);
    pending_.assign(n, 0);
    first_edge_.assign(n, -1);
    edges_.clear();
    std::fill(last_.begin(), last_.end(), -1);
    std::fill(free_.begin(), free_.end(), 0);
    s.sequence.resize(keep);
    s.makespan = 0;
    for (int a : s.sequence) {
        pending_[to_size(a)] = kept;
        for (const lane_use& u : items[to_size(a)].lanes) {
            take(u, s.start[to_size(a)]);
        }
        s.makespan = std::max(s.makespan, s.end[to_size(a)]);
    }
    heap_.clear();
    for (lane_queue& q : queues_) {
        q = {};
    }
    for (std::size_t k = 0; k < order.size(); ++k) {
        const int a = order[k];
        const activity& x = items[to_size(a)];
        rank_[to_size(a)] = static_cast<int>(k);
        const bool fresh = pending_[to_size(a)] != kept;
        if (fresh) {
            s.ready[to_size(a)] = 0;
            for (int before : x.after) {
                follow(before, a, s);
            }
        }
        if (x.device >= 0) {
            if (fresh && last_[to_size(x.device)] >= 0) {
                follow(last_[to_size(x.device)], a, s);
            }
            last_[to_size(x.device)] = a;
        }
        if (fresh && pending_[to_size(a)] == 0) {
            push(a, s);
        }
    }
    while (!heap_.empty()) {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const waiting next = heap_.back();
        heap_.pop_back();
        if (next.which < 0) {
            serve(-1 - next.which, next.ready, items, s);
        } else if (items[to_size(next.which)].priority >= 0 && !items[to_size(next.which)].lanes.empty()) {
            enqueue(next.which, items[to_size(next.which)], next.ready);
        } else {
            start(items[to_size(next.which)], next.which, next.ready, s);
        }
    }
    if (s.sequence.size() != order.size()) {
        throw error("tessera: " + std::to_string(order.size() - s.sequence.size()) + " of " +
                    std::to_string(order.size()) +
                    " activities wait for each other; a plan that verify() accepts has no such circle");
    }
    s.visited = order.size() - keep;
}

TESSERA_INLINE bool scheduler::later(const waiting& a, const waiting& b) {
    if (a.ready != b.ready) {
        return a.ready > b.ready;
    }
    const bool lane = a.which < 0;
    return lane != (b.which < 0) ? lane : lane ? a.which < b.which : a.rank > b.rank;
}

TESSERA_INLINE void scheduler::follow(int before, int a, schedule& s) {
    if (pending_[to_size(before)] == kept) {
        s.ready[to_size(a)] = std::max(s.ready[to_size(a)], s.end[to_size(before)]);
        return;
    }
    ++pending_[to_size(a)];
    edges_.push_back({a, first_edge_[to_size(before)]});
    first_edge_[to_size(before)] = static_cast<int>(edges_.size()) - 1;
}

TESSERA_INLINE void scheduler::push(int a, const schedule& s) {
    heap_.push_back({s.ready[to_size(a)], rank_[to_size(a)], a});
    std::push_heap(heap_.begin(), heap_.end(), later);
}

TESSERA_INLINE void scheduler::enqueue(int a, const activity& x, index_t now) {
    int lane = x.lanes[0].lane;
    for (const lane_use& u : x.lanes) {
        lane = !u.meanwhile && free_[to_size(u.lane)] > free_[to_size(lane)] ? u.lane : lane;
    }
    std::vector<waiting>& heap = queues_[to_size(lane)].heap;
    heap.push_back({x.priority, rank_[to_size(a)], a});
    std::push_heap(heap.begin(), heap.end(), later);
    call(lane, now);
}

TESSERA_INLINE void scheduler::call(int lane, index_t now) {
    const index_t when = std::max(now, free_[to_size(lane)]);
    lane_queue& q = queues_[to_size(lane)];
    if (q.called < now || when < q.called) {
        q.called = when;
        heap_.push_back({when, 0, -1 - lane});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
}

TESSERA_INLINE void scheduler::serve(int lane, index_t now, const std::vector<activity>& items, schedule& s) {
    lane_queue& q = queues_[to_size(lane)];
    q.called = -1;
    while (!q.heap.empty() && free_[to_size(lane)] <= now) {
        std::pop_heap(q.heap.begin(), q.heap.end(), later);
        const int a = q.heap.back().which;
        q.heap.pop_back();
        bool all_free = true;
        for (const lane_use& u : items[to_size(a)].lanes) {
            all_free = all_free && (u.meanwhile || free_[to_size(u.lane)] <= now);
        }
        all_free ? start(items[to_size(a)], a, now, s) : enqueue(a, items[to_size(a)], now);
    }
    if (!q.heap.empty()) {
        call(lane, now);
    }
}

TESSERA_INLINE void scheduler::take(const lane_use& u, index_t begin) {
    index_t& free = free_[to_size(u.lane)];
    free = (u.meanwhile ? std::max(free, begin) : begin) + u.busy;
}

TESSERA_INLINE void scheduler::start(const activity& x, int a, index_t now, schedule& s) {
    index_t begin = now;
    for (const lane_use& u : x.lanes) {
        begin = u.meanwhile ? begin : std::max(begin, free_[to_size(u.lane)]);
    }
    for (const lane_use& u : x.lanes) {
        take(u, begin);
    }
    const index_t end = begin + x.duration;
    s.start[to_size(a)] = begin;
    s.end[to_size(a)] = end;
    s.makespan = std::max(s.makespan, end);
    s.sequence.push_back(a);
    for (int e = first_edge_[to_size(a)]; e >= 0; e = edges_[to_size(e)].next) {
        const int b = edges_[to_size(e)].to;
        s.ready[to_size(b)] = std::max(s.ready[to_size(b)], end);
        if (--pending_[to_size(b)] == 0) {
            push(b, s);
        }
    }
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
