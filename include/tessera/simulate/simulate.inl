// SPDX-License-Identifier: Apache-2.0
// Bodies of simulate.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/simulate.hpp"

#include <utility>

namespace tessera::simulation {

TESSERA_INLINE void tile_users::resize(std::size_t tiles) {
    writer.resize(tiles, -1);
    readers.resize(tiles);
}

TESSERA_INLINE activity_graph activities_of(const plan& p, task_activities& activities) {
    activity_graph g;
    std::vector<task_activity> all = activities.of(p.tiles, p.tasks);
    tile_users users;
    users.resize(p.tiles.size());
    bool rereads = p.steps_per_plan > 1;
    for (const task& t : p.tasks) {
        rereads = rereads || t.kind() == task_kind::average;
    }
    if (rereads) {
        users.updaters.resize(p.tiles.size());
    }
    std::vector<int> last_of_task(p.tasks.size(), -1);
    std::vector<int> last_of_device(to_size(p.devices), -1); // on its communication stream
    tessera::detail::computed_so_far computed(p.devices);
    const auto root = [&p](int t) { return to_size(p.root(t)); };
    for (std::size_t i = 0; i < all.size(); ++i) {
        task_activity& c = all[i];
        const int number = static_cast<int>(i);
        std::vector<int>& after = c.what.after;
        after = c.predecessors;
        const task& t = p.tasks[to_size(c.task)];
        for (const wait_for& w : t.waits) {
            if (activities.machine().class_of(t.device).serial_copies &&
                activities.machine().class_of(p.device_of_list(w.list)).serial_copies) {
                const std::vector<int>& list = p.order[to_size(w.list)];
                after.push_back(last_of_task[to_size(list[to_size(w.count - 1)])]);
            }
        }
        for (const int before : t.after) {
            if (activities.machine().class_of(t.device).serial_copies) {
                after.push_back(last_of_task[to_size(before)]);
            }
        }
        for (int k = c.task; k < c.task + c.count; ++k) {
            const task& part = p.tasks[to_size(k)];
            last_of_task[to_size(k)] = number;
            if (part.stream != task_stream::compute && !c.in_order) {
                int& last = last_of_device[to_size(part.device)];
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
        g.items.push_back(std::move(c.what));
        g.tasks.push_back({c.task, c.count});
    }
    return g;
}

} // namespace tessera::simulation

namespace tessera::simulation::detail {

TESSERA_INLINE void add_span(std::vector<task_span>& spans, int first, int count, index_t start, index_t end) {
    for (int k = first; k < first + count; ++k) {
        task_span& span = spans[to_size(k)];
        span.start = span.end == 0 ? start : std::min(span.start, start);
        span.end = std::max(span.end, end);
    }
}

} // namespace tessera::simulation::detail

namespace tessera::simulation {

TESSERA_INLINE activity_run run_activities(const plan& p, task_activities& activities) {
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

TESSERA_INLINE timeline simulate(const plan& p, task_activities& activities) {
    const auto& [g, s] = run_activities(p, activities);
    timeline t;
    t.makespan = s.makespan;
    t.collectives = g.collectives;
    t.tasks.resize(p.tasks.size());
    t.device_busy.assign(to_size(activities.machine().devices()), 0);
    t.lane_busy.assign(to_size(activities.lanes()), 0);
    for (std::size_t i = 0; i < g.items.size(); ++i) {
        const activity& a = g.items[i];
        detail::add_span(t.tasks, g.tasks[i].first, g.tasks[i].count, s.start[i], s.end[i]);
        if (a.device >= 0) {
            t.device_busy[to_size(a.device)] += a.duration;
        }
        for (const lane_use& u : a.lanes) {
            t.lane_busy[to_size(u.lane)] += activities.is_own_engine(a, u) ? 0 : u.busy;
        }
    }
    for (std::size_t d = 0; d < p.arena_bytes.size(); ++d) {
        t.peak_bytes.push_back(p.arena_bytes[d] + p.persistent_bytes[d]);
    }
    return t;
}

TESSERA_INLINE timeline simulate(const graph_view& g, const plan& p, const cluster& on, const task_times& times) {
    task_activities activities(on, g, times);
    return simulate(p, activities);
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
