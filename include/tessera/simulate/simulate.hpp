// SPDX-License-Identifier: Apache-2.0
// simulate(plan): predicts when every task of a plan starts and ends on a cluster, from the same tasks in the same order as the executor runs.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/late_sums.hpp"
#include "tessera/simulate/collective_activities.hpp"
#include "tessera/simulate/timeline.hpp"

namespace tessera::simulation {

/// Resolves the order between activities: which tile was written by which, and which persistent tiles are read by which.
class tile_users {
public:
    void resize(std::size_t tiles) {
        writer.resize(tiles, -1);
        readers.resize(tiles);
    }
    /// Registers an activity after everything it comes after has been.
    template <class Root>
    void add(const task_activity& c, int number, const std::vector<tile>& tiles, const Root& root,
             std::vector<int>& after) {
        for (int r : c.reads) {
            const std::size_t base = root(r);
            if (writer[base] >= 0) {
                after.push_back(writer[base]);
            }
            if (base < others.size()) {
                after.insert(after.end(), others[base].begin(), others[base].end());
            }
            if (is_persistent(tiles[base].kind)) {
                readers[base].push_back(number);
                if (base < updaters.size()) {
                    after.insert(after.end(), updaters[base].begin(), updaters[base].end());
                }
            }
        }
        for (int w : c.overwrites) {
            for (int r : readers[root(w)]) {
                if (r != number) {
                    after.push_back(r);
                }
            }
            if (root(w) < updaters.size()) {
                updaters[root(w)].push_back(number);
            }
        }
        for (int w : c.writes) {
            if (c.in_part && writer[root(w)] >= 0 && writer[root(w)] != number) {
                others.resize(writer.size());
                others[root(w)].push_back(writer[root(w)]);
            }
            writer[root(w)] = number;
        }
        std::sort(after.begin(), after.end());
        after.erase(std::unique(after.begin(), after.end()), after.end());
    }

    std::vector<int> writer;
    std::vector<std::vector<int>> updaters; ///< of persistent tiles; only where something reads them after updates
    std::vector<std::vector<int>> others;   ///< earlier writers of other parts of a tile
    std::vector<std::vector<int>> readers;
};

/// A plan's activities in the plan's order, and which tasks each is part of.
struct activity_graph {
    struct covered {
        int first = 0;
        int count = 1;
    };
    std::vector<activity> items;
    std::vector<covered> tasks;
    int collectives = 0; ///< see timeline
};

/// The activities of a plan. Devices that copy in turn respect the plan's waits where they have been set, memory that is used again
/// included; everywhere else the order follows from the tiles. A communication stream takes its tasks one after the other, in the plan's
/// order.
inline activity_graph activities_of(const plan& p, task_activities& activities) {
    activity_graph g;
    std::vector<task_activity> all = activities.of(p.tiles, p.tasks);
    tile_users users;
    users.resize(p.tiles.size());
    bool rereads = p.period > 1;
    for (const task& t : p.tasks) {
        rereads = rereads || t.kind == task_kind::average;
    }
    if (rereads) {
        users.updaters.resize(p.tiles.size());
    }
    std::vector<int> last_of_task(p.tasks.size(), -1);
    std::vector<int> last_of_device(static_cast<std::size_t>(p.devices), -1); // on its communication stream
    tessera::detail::computed_so_far computed(p.devices);
    const auto root = [&p](int t) { return static_cast<std::size_t>(p.root(t)); };
    for (std::size_t i = 0; i < all.size(); ++i) {
        task_activity& c = all[i];
        const int number = static_cast<int>(i);
        std::vector<int>& after = c.what.after;
        after = c.beside;
        const task& t = p.tasks[static_cast<std::size_t>(c.task)];
        for (const wait_for& w : t.waits) {
            if (activities.machine().class_of(t.device).copies_in_turn &&
                activities.machine().class_of(p.device_of_list(w.list)).copies_in_turn) {
                const std::vector<int>& list = p.order[static_cast<std::size_t>(w.list)];
                after.push_back(last_of_task[static_cast<std::size_t>(list[static_cast<std::size_t>(w.count - 1)])]);
            }
        }
        for (const int before : t.after) {
            if (activities.machine().class_of(t.device).copies_in_turn) {
                after.push_back(last_of_task[static_cast<std::size_t>(before)]);
            }
        }
        for (int k = c.task; k < c.task + c.count; ++k) {
            const task& part = p.tasks[static_cast<std::size_t>(k)];
            last_of_task[static_cast<std::size_t>(k)] = number;
            if (part.stream != task_stream::compute && !c.in_order) {
                int& last = last_of_device[static_cast<std::size_t>(part.device)];
                if (last >= 0 && last != number) {
                    after.push_back(last);
                }
                last = number;
            }
        }
        computed.pass(t, number);
        computed.for_each_late(p.tiles, t, c.reads, [&](int last) { after.push_back(last); });
        g.collectives += c.members.empty() ? 0 : 1;
        users.add(c, number, p.tiles, root, after);
        g.items.push_back(static_cast<activity&&>(c.what));
        g.tasks.push_back({c.task, c.count});
    }
    return g;
}

namespace detail {

/// Adds an activity to the spans of its tasks.
inline void add_span(std::vector<task_span>& spans, int first, int count, index_t start, index_t end) {
    for (int k = first; k < first + count; ++k) {
        task_span& span = spans[static_cast<std::size_t>(k)];
        span.start = span.end == 0 ? start : std::min(span.start, start);
        span.end = std::max(span.end, end);
    }
}

} // namespace detail

/// The activities of a plan, and when each runs.
struct activity_run {
    activity_graph what;
    schedule when;
};

/// Runs a plan's activities once. Throws tessera::error for a plan of more devices than the cluster has, and for tasks that wait for each
/// other.
inline activity_run run_activities(const plan& p, task_activities& activities) {
    const cluster& on = activities.machine();
    if (p.devices > on.devices()) {
        throw error("tessera: the plan is for " + std::to_string(p.devices) + " devices, but the machine '" +
                    on.graph().name + "' has " + std::to_string(on.devices()));
    }
    activity_run r{activities_of(p, activities), {}};
    std::vector<int> order(r.what.items.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = static_cast<int>(i);
    }
    scheduler(on.devices(), activities.lanes()).run(r.what.items, order, r.when);
    return r;
}

/// Simulates one run of a plan. Throws what run_activities() throws.
inline timeline simulate(const plan& p, task_activities& activities) {
    const auto& [g, s] = run_activities(p, activities);
    timeline t;
    t.makespan = s.makespan;
    t.collectives = g.collectives;
    t.tasks.resize(p.tasks.size());
    t.device_busy.assign(static_cast<std::size_t>(activities.machine().devices()), 0);
    t.lane_busy.assign(static_cast<std::size_t>(activities.lanes()), 0);
    for (std::size_t i = 0; i < g.items.size(); ++i) {
        const activity& a = g.items[i];
        detail::add_span(t.tasks, g.tasks[i].first, g.tasks[i].count, s.start[i], s.end[i]);
        if (a.device >= 0) {
            t.device_busy[static_cast<std::size_t>(a.device)] += a.duration;
        }
        for (const lane_use& u : a.lanes) {
            t.lane_busy[static_cast<std::size_t>(u.lane)] += activities.is_own_engine(a, u) ? 0 : u.busy;
        }
    }
    for (std::size_t d = 0; d < p.arena_bytes.size(); ++d) {
        t.peak_bytes.push_back(p.arena_bytes[d] + p.persistent_bytes[d]);
    }
    return t;
}

inline timeline simulate(const graph_view& g, const plan& p, const cluster& on, const task_times& times = {}) {
    task_activities activities(on, g, times);
    return simulate(p, activities);
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
