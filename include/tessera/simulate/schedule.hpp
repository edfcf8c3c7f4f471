// SPDX-License-Identifier: Apache-2.0
// Event-driven simulation of activities: what runs when on devices that take their tasks in a given order, and on lanes that serve transfers
// in the order in which they become ready. Times are whole nanoseconds from 0.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/error.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace tessera::simulation {

/// How long an activity keeps a lane from others.
struct lane_use {
    int lane = 0;
    index_t busy = 0;
    friend constexpr bool operator==(const lane_use&, const lane_use&) = default;
};

/// Something that a machine does without interruption. It becomes ready when everything in `after`, and what comes before it on its
/// device, has ended; it starts when, besides, every lane that it uses is free of all activities that became ready before it, or, if it has a
/// priority, of all that have started and of more urgent ones that are ready.
struct activity {
    int device = -1; ///< that it occupies in the given order, or -1
    index_t duration =
        1; ///< ns, at least 1: time passes, so that ties in readiness can be broken by the given order alone
    std::vector<lane_use> lanes;
    std::vector<int> after; ///< activities
    int priority = -1; ///< 0 or more: of those that wait for a lane the least goes next; -1: in the order of readiness
    friend bool operator==(const activity&, const activity&) = default;
};

/// When everything happens; indexed by activity.
struct schedule {
    std::vector<index_t> ready;
    std::vector<index_t> start;
    std::vector<index_t> end;
    std::vector<int> sequence; ///< activities in order of (ready, given order)
    index_t makespan = 0;
    std::size_t visited = 0; ///< activities that the last simulation worked out

    void resize(std::size_t n) {
        ready.resize(n, 0);
        start.resize(n, 0);
        end.resize(n, 0);
    }
};

/// Simulates activities, or goes on after an unchanged beginning. Keeps its working memory from call to call.
class scheduler {
public:
    scheduler(int devices, int lanes)
        : last_(static_cast<std::size_t>(devices)), free_(static_cast<std::size_t>(lanes)),
          queues_(static_cast<std::size_t>(lanes)) {}

    /// `order` lists the activities of `items` that take part. The first `keep` of `s.sequence` stay as they are: they must be what a
    /// simulation of these activities would begin with. Throws tessera::error if activities wait for each other.
    void run(const std::vector<activity>& items, const std::vector<int>& order, schedule& s, std::size_t keep = 0) {
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
            pending_[at(a)] = kept;
            for (const lane_use& u : items[at(a)].lanes) {
                free_[at(u.lane)] = s.start[at(a)] + u.busy;
            }
            s.makespan = std::max(s.makespan, s.end[at(a)]);
        }
        heap_.clear();
        for (lane_queue& q : queues_) {
            q = {};
        }
        for (std::size_t k = 0; k < order.size(); ++k) {
            const int a = order[k];
            const activity& x = items[at(a)];
            rank_[at(a)] = static_cast<int>(k);
            const bool fresh = pending_[at(a)] != kept;
            if (fresh) {
                s.ready[at(a)] = 0;
                for (int before : x.after) {
                    follow(before, a, s);
                }
            }
            if (x.device >= 0) {
                if (fresh && last_[at(x.device)] >= 0) {
                    follow(last_[at(x.device)], a, s);
                }
                last_[at(x.device)] = a;
            }
            if (fresh && pending_[at(a)] == 0) {
                push(a, s);
            }
        }
        while (!heap_.empty()) {
            std::pop_heap(heap_.begin(), heap_.end(), later);
            const waiting next = heap_.back();
            heap_.pop_back();
            if (next.which < 0) {
                serve(-1 - next.which, next.ready, items, s);
            } else if (items[at(next.which)].priority >= 0 && !items[at(next.which)].lanes.empty()) {
                enqueue(next.which, items[at(next.which)], next.ready);
            } else {
                start(items[at(next.which)], next.which, next.ready, s);
            }
        }
        if (s.sequence.size() != order.size()) {
            throw error("tessera: " + std::to_string(order.size() - s.sequence.size()) + " of " +
                        std::to_string(order.size()) +
                        " activities wait for each other; a plan that verify() accepts has no such circle");
        }
        s.visited = order.size() - keep;
    }

private:
    /// An activity that is ready, or (-1 - lane) a lane that may serve its queue, after all activities of the same moment.
    struct waiting {
        index_t ready = 0;
        int rank = 0;
        int which = 0;
    };
    /// Activities with priorities that wait for a lane: a heap by `ready`, here the priority.
    struct lane_queue {
        std::vector<waiting> heap;
        index_t called = -1; ///< when the lane looks at it next
    };
    struct edge {
        int to = 0;
        int next = -1;
    };
    static constexpr int kept = -1;
    static bool later(const waiting& a, const waiting& b) {
        if (a.ready != b.ready) {
            return a.ready > b.ready;
        }
        const bool lane = a.which < 0;
        return lane != (b.which < 0) ? lane : lane ? a.which < b.which : a.rank > b.rank;
    }
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    /// Notes that activity `a` comes after another.
    void follow(int before, int a, schedule& s) {
        if (pending_[at(before)] == kept) {
            s.ready[at(a)] = std::max(s.ready[at(a)], s.end[at(before)]);
            return;
        }
        ++pending_[at(a)];
        edges_.push_back({a, first_edge_[at(before)]});
        first_edge_[at(before)] = static_cast<int>(edges_.size()) - 1;
    }

    void push(int a, const schedule& s) {
        heap_.push_back({s.ready[at(a)], rank_[at(a)], a});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }

    /// Lets an activity wait for the lane that is free last.
    void enqueue(int a, const activity& x, index_t now) {
        int lane = x.lanes[0].lane;
        for (const lane_use& u : x.lanes) {
            lane = free_[at(u.lane)] > free_[at(lane)] ? u.lane : lane;
        }
        std::vector<waiting>& heap = queues_[at(lane)].heap;
        heap.push_back({x.priority, rank_[at(a)], a});
        std::push_heap(heap.begin(), heap.end(), later);
        call(lane, now);
    }
    /// Has a lane look at its queue as soon as it is free.
    void call(int lane, index_t now) {
        const index_t when = std::max(now, free_[at(lane)]);
        lane_queue& q = queues_[at(lane)];
        if (q.called < now || when < q.called) {
            q.called = when;
            heap_.push_back({when, 0, -1 - lane});
            std::push_heap(heap_.begin(), heap_.end(), later);
        }
    }
    /// Starts the most urgent activity of a lane's queue for which all its lanes are free; those that wait for another lane go on to its queue.
    void serve(int lane, index_t now, const std::vector<activity>& items, schedule& s) {
        lane_queue& q = queues_[at(lane)];
        q.called = -1;
        while (!q.heap.empty() && free_[at(lane)] <= now) {
            std::pop_heap(q.heap.begin(), q.heap.end(), later);
            const int a = q.heap.back().which;
            q.heap.pop_back();
            bool all_free = true;
            for (const lane_use& u : items[at(a)].lanes) {
                all_free = all_free && free_[at(u.lane)] <= now;
            }
            all_free ? start(items[at(a)], a, now, s) : enqueue(a, items[at(a)], now);
        }
        if (!q.heap.empty()) {
            call(lane, now);
        }
    }

    void start(const activity& x, int a, index_t now, schedule& s) {
        index_t begin = now;
        for (const lane_use& u : x.lanes) {
            begin = std::max(begin, free_[at(u.lane)]);
        }
        for (const lane_use& u : x.lanes) {
            free_[at(u.lane)] = begin + u.busy;
        }
        const index_t end = begin + x.duration;
        s.start[at(a)] = begin;
        s.end[at(a)] = end;
        s.makespan = std::max(s.makespan, end);
        s.sequence.push_back(a);
        for (int e = first_edge_[at(a)]; e >= 0; e = edges_[at(e)].next) {
            const int b = edges_[at(e)].to;
            s.ready[at(b)] = std::max(s.ready[at(b)], end);
            if (--pending_[at(b)] == 0) {
                push(b, s);
            }
        }
    }

    std::vector<int> last_;
    std::vector<index_t> free_;
    std::vector<lane_queue> queues_;
    std::vector<int> rank_;
    std::vector<int> pending_;
    std::vector<int> first_edge_;
    std::vector<edge> edges_;
    std::vector<waiting> heap_;
};

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
