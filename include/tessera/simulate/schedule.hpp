// SPDX-License-Identifier: Apache-2.0
// Event-driven simulation of activities: what runs when on devices that take their tasks in a given order, and on lanes
// that serve transfers in the order in which they become ready. Times are whole nanoseconds from 0.
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
    bool meanwhile = false; ///< the activity does not wait for the lane: what uses it next has to wait so much longer
    friend constexpr bool operator==(const lane_use&, const lane_use&) = default;
};

/// Something that a machine does without interruption. It becomes ready when everything in `after`, and what comes
/// before it on its device, has ended; it starts when, besides, every lane that it waits for is free of all activities that
/// became ready before it, or, if it has a priority, of all that have started and of more urgent ones that are ready.
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

    void resize(std::size_t n);
};

/// Simulates activities, or goes on after an unchanged beginning. Keeps its working memory from call to call.
class scheduler {
public:
    scheduler(int devices, int lanes);

    /// `order` lists the activities of `items` that take part. The first `keep` of `s.sequence` stay as they are: they
    /// must be what a simulation of these activities would begin with. Throws tessera::error if activities wait for
    /// each other.
    void run(const std::vector<activity>& items, const std::vector<int>& order, schedule& s, std::size_t keep = 0);

private:
    /// An activity that is ready, or (-1 - lane) a lane that may serve its queue, after all activities of the same
    /// moment.
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
    static bool later(const waiting& a, const waiting& b);

    /// Notes that activity `a` comes after another.
    void follow(int before, int a, schedule& s);

    void push(int a, const schedule& s);

    /// Lets an activity wait for the lane that is free last.
    void enqueue(int a, const activity& x, index_t now);
    /// Has a lane look at its queue as soon as it is free.
    void call(int lane, index_t now);
    /// Starts the most urgent activity of a lane's queue for which all its lanes are free; those that wait for another
    /// lane go on to its queue.
    void serve(int lane, index_t now, const std::vector<activity>& items, schedule& s);

    void start(const activity& x, int a, index_t now, schedule& s);
    /// An activity that begins then has its use of a lane.
    void take(const lane_use& u, index_t begin);

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

#ifndef TESSERA_COMPILED
#include "tessera/simulate/schedule.inl"
#endif

#include "tessera/base/end_header.inl"
