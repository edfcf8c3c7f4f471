// SPDX-License-Identifier: Apache-2.0
// Bodies of task_activities.hpp: activities of what devices sum and share: a group of updates, the messages that a
// synchronization policy makes, with one collective for all tasks of a message, and what goes to a parameter server and
// back.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/task_activities.hpp"

#include <utility>

namespace tessera::simulation {

/// Update tasks that share a sum: a reduce-scatter, each task's own slice, and an all-gather.
TESSERA_INLINE void task_activities::add_group(const std::vector<tile>& tiles, const std::vector<task>& tasks,
                                               int first, std::vector<task_activity>& all) {
    const task& leader = tasks[to_size(first)];
    index_t bytes = 0;
    for (std::size_t i = 0; i < part_count(leader); ++i) {
        bytes += cost_bytes(tiles[to_size(leader.writes[first_write_of(leader, i)])]);
    }
    const int own = group_size(leader);
    std::vector<int> readers;
    std::vector<int> writers;
    bool sums = divided() > 1;
    for (int r : leader.reads) {
        add_member(readers, tiles[to_size(r)].device);
        for (const int i : {first, first + own - 1}) { // members differ: also where one alone contributes
            sums = sums || tiles[to_size(r)].device != tasks[to_size(i)].device;
        }
    }
    // With clipping each task reads its own sum and all norms; then there is nothing to scatter.
    sums = sums && leader.params().norms.empty();
    for (int w : leader.writes) {
        add_member(writers, tiles[to_size(w)].device);
        add_member(readers, tiles[to_size(w)].device);
    }
    int scatter = -1;
    if (sums) {
        scatter = static_cast<int>(all.size());
        all.emplace_back();
        all.back().what = collectives_.half(readers, bytes);
        all.back().members = readers;
        all.back().reads = leader.reads;
        all.back().task = first;
        all.back().count = own;
    }
    std::vector<int> updates;
    for (int i = first; i < first + own; ++i) {
        updates.push_back(static_cast<int>(all.size()));
        add_slice(tiles, tasks[to_size(i)], i, scatter, all);
    }
    all.emplace_back(); // of copies on several devices: one device has one copy of a region at most
    all.back().what = collectives_.half(writers, bytes);
    all.back().members = writers;
    all.back().overwrites = leader.writes;
    all.back().predecessors = updates;
    all.back().task = first;
    all.back().count = own;
}

TESSERA_INLINE void task_activities::add_slice(const std::vector<tile>& tiles, const task& t, int number, int scatter,
                                               std::vector<task_activity>& all) {
    task_activity c;
    c.task = number;
    wires_.begin();
    if (scatter >= 0) {
        c.predecessors.push_back(scatter);
    } else {
        c.reads = t.reads;
        for (int r : t.reads) {
            const tile& x = tiles[to_size(r)];
            if (x.device != t.device) {
                wires_.send(x.device, t.device, tile_bytes(x, t));
            }
        }
    }
    wires_.finish(t.device, time_of_own_slice(tiles, t), c.what, true, starting_time(t));
    all.push_back(std::move(c));
}

TESSERA_INLINE task_activities::message task_activities::message_at(const std::vector<tile>& tiles,
                                                                    const std::vector<task>& tasks, int first) const {
    const task& leader = tasks[to_size(first)];
    message m;
    m.first = first;
    int last = first;
    while (last + 1 < static_cast<int>(tasks.size()) &&
           tasks[to_size(last + 1)].params().message == leader.params().message &&
           tasks[to_size(last + 1)].kind() == leader.kind()) {
        ++last;
    }
    m.count = last - first + 1;
    const bool gathers = leader.kind() == task_kind::gather;     // all-gather of one parameter's slices
    const bool decodes = leader.kind() == task_kind::decompress; // all-gather of codes
    for (int i = first; i <= last; ++i) {
        const task& t = tasks[to_size(i)];
        if (is_for_parts() && !gathers) {
            m.bytes = i > first ? m.bytes : bytes_of_members(tiles, t, m.count);
        } else {
            m.bytes = decodes ? code_bytes(tiles, t) : (gathers ? 0 : m.bytes) + slice_bytes(tiles, t);
        }
        const bool again = i > first && tasks[to_size(i - 1)].reads == t.reads;
        for (int r : t.reads) {
            const bool travels = tiles[to_size(r)].kind != tile_kind::scalar;
            m.sums = m.sums || (travels && tiles[to_size(r)].device != t.device);
            if (travels) {
                add_member(m.members, tiles[to_size(r)].device);
            }
            if (!again) {
                m.reads.push_back(r);
            }
        }
        const bool same = i > first && tasks[to_size(i - 1)].writes == t.writes;
        for (int w : t.writes) {
            m.shares = m.shares || tiles[to_size(w)].device != t.device;
            add_member(m.members, tiles[to_size(w)].device);
            const bool persistent = is_persistent(tiles[to_size(w)].kind);
            if (!same) {
                (persistent ? m.overwrites : m.writes).push_back(w);
            }
        }
    }
    return m;
}

/// Adds half of a message's exchange; returns its number.
TESSERA_INLINE int task_activities::add_collective(task_activity c, const message& m, std::vector<task_activity>& all) {
    const std::size_t number = all.size();
    c.what = collectives_.half(m.members, m.bytes);
    c.members = m.members;
    c.task = m.first;
    c.count = m.count;
    c.in_order = true;
    for (const int member : m.members) {
        follow(last_of_[to_size(member)].collective, c, number);
    }
    std::sort(c.predecessors.begin(), c.predecessors.end());
    c.predecessors.erase(std::unique(c.predecessors.begin(), c.predecessors.end()), c.predecessors.end());
    all.push_back(std::move(c));
    return static_cast<int>(number);
}

/// What a task of a message does itself, after the activity `scatter` if there is one.
TESSERA_INLINE task_activity task_activities::own_work(const std::vector<tile>& tiles, const task& t, int number,
                                                       int scatter, bool shares) {
    task_activity c;
    c.task = number;
    c.in_order = true;
    wires_.begin();
    if (scatter >= 0) {
        c.predecessors.push_back(scatter);
    } else {
        c.reads = t.reads;
    }
    for (int r : t.reads) { // norms
        const tile& x = tiles[to_size(r)];
        if (x.kind == tile_kind::scalar && x.device != t.device) {
            wires_.send(x.device, t.device, tile_bytes(x, t));
        }
    }
    if (brings_up(tiles, t)) {
        wires_.finish(t.device, 0, c.what, true);
        cross_to_host(t.device, false, slice_bytes(tiles, t), c.what);
    } else {
        wires_.finish(t.device, time_of_own_slice(tiles, t), c.what, true, starting_time(t));
    }
    if (!shares) { // then what it writes is its own
        for (int w : t.writes) {
            (is_persistent(tiles[to_size(w)].kind) ? c.overwrites : c.writes).push_back(w);
        }
    }
    return c;
}

/// The tasks of a message: an all-gather if they gather slices of a parameter; an all-gather of codes and each task's
/// own work if they add up compressed gradients; else a reduce-scatter if contributions come from several devices, each
/// task's own work, an all-gather if they write on several. Messages follow each other on the devices that they share,
/// in the plan's order. Returns the last task.
TESSERA_INLINE int task_activities::add_message(const std::vector<tile>& tiles, const std::vector<task>& tasks,
                                                int first, std::vector<task_activity>& all) {
    const message m = message_at(tiles, tasks, first);
    const int last = first + m.count - 1;
    task_activity gather;
    gather.writes = m.writes;
    gather.overwrites = m.overwrites;
    if (tasks[to_size(first)].kind() == task_kind::gather && m.members.size() > 1) {
        gather.reads = m.reads;
        add_collective(std::move(gather), m, all);
        return last;
    }
    int before = -1;
    if (m.sums) {
        task_activity scatter;
        scatter.reads = m.reads;
        before = add_collective(std::move(scatter), m, all);
    }
    for (int i = first; i <= last; ++i) {
        const task& t = tasks[to_size(i)];
        if (t.kind() != task_kind::update && m.sums && m.shares) {
            continue; // sums on its way
        }
        gather.predecessors.push_back(static_cast<int>(all.size()));
        all.push_back(own_work(tiles, t, i, before, m.shares));
    }
    if (m.shares) {
        gather.in_part = true; // of a sum that several messages make
        add_collective(std::move(gather), m, all);
    }
    return last;
}

/// A transfer of its own over the first half of its way, its sender's, and over the second, its receiver's: switches
/// between them buffer, so that a receiver that is busy with others' transfers does not keep the sender from sending.
/// It leaves when `last`, the sender's one before, has left. Adds the two activities, with what `c` says otherwise, to
/// `arrived`; it has arrived when these have ended and the latency, which is returned, is over.
TESSERA_INLINE index_t task_activities::add_hops(task_activity& c, int from, int to, index_t bytes, int& last,
                                                 std::vector<task_activity>& all, std::vector<int>& arrived) {
    const route r = on_.between(from, to);
    if (last >= 0) {
        c.predecessors.push_back(last);
    }
    const int half = (r.lanes.size() + 1) / 2;
    for (const int begin : {0, half}) {
        const int end = begin == 0 ? half : r.lanes.size();
        if (begin == end) {
            continue;
        }
        task_activity hop = c;
        index_t wire = 1;
        for (int k = begin; k < end; ++k) {
            const int lane = r.lanes[k];
            const index_t busy = (bytes * 1000 + 1) / on_.lane_megabytes(lane);
            wire = std::max(wire, busy);
            hop.what.lanes.push_back({lane, busy});
        }
        hop.what.duration = wire;
        last = begin == 0 ? static_cast<int>(all.size()) : last;
        arrived.push_back(static_cast<int>(all.size()));
        all.push_back(std::move(hop));
    }
    return r.latency;
}

/// Adds a tile to those of its device; one that is apart begins a list of its own.
TESSERA_INLINE void task_activities::add_to_device(std::vector<device_tiles>& all, int device, int which, bool apart) {
    std::size_t k = apart ? all.size() : 0;
    while (k < all.size() && all[k].first != device) {
        ++k;
    }
    if (k == all.size()) {
        all.push_back({device, {which}});
    } else {
        all[k].second.push_back(which);
    }
}

/// What other devices push to the one of a task; norms by themselves.
TESSERA_INLINE std::vector<task_activities::device_tiles> task_activities::pushed_to(const std::vector<tile>& tiles,
                                                                                     const task& t) {
    std::vector<device_tiles> pushed;
    for (int r : t.reads) {
        const tile& x = tiles[to_size(r)];
        if (x.device != t.device) {
            add_to_device(pushed, x.device, r, x.kind == tile_kind::scalar);
        }
    }
    return pushed;
}

/// What other devices pull from the one of a task.
TESSERA_INLINE std::vector<task_activities::device_tiles> task_activities::pulled_from(const std::vector<tile>& tiles,
                                                                                       const task& t) {
    std::vector<device_tiles> pulled;
    for (int w : t.writes) {
        const int device = tiles[to_size(w)].device;
        if (device != t.device) {
            add_to_device(pulled, device, w, false);
        }
    }
    return pulled;
}

/// What a server does for a slice: every other member's push, the update, and a pull for every other copy. Pushes of
/// one member follow each other in the plan's order, and so do a server's pulls; out of a queue each goes when the
/// lanes are free, the most urgent first.
TESSERA_INLINE int task_activities::add_served(const std::vector<tile>& tiles, const std::vector<task>& tasks,
                                               int number, std::vector<task_activity>& all) {
    const task& t = tasks[to_size(number)];
    task_activity own;
    own.task = number;
    own.in_order = true;
    own.what.priority = t.priority;
    int first = -1;
    const auto sent = [&](int& last) -> int& { return t.priority < 0 ? last : first = -1; };
    index_t way = 0; // ns: the greatest latency, which the last push has still before it when it has left
    const auto push = [&](int from, const std::vector<int>& what) {
        task_activity c;
        c.task = number;
        c.in_order = true;
        c.reads = what;
        c.what.priority = t.priority;
        index_t bytes = 0;
        for (int r : what) {
            bytes += tile_bytes(tiles[to_size(r)], t);
        }
        way = std::max(way,
                       add_hops(c, from, t.device, bytes, sent(last_of_[to_size(from)].push), all, own.predecessors));
    };
    for (int r : t.reads) {
        if (tiles[to_size(r)].device == t.device) {
            own.reads.push_back(r);
        }
    }
    for (const auto& [device, what] : pushed_to(tiles, t)) {
        push(device, what);
    }
    wires_.begin();
    index_t taken = 0; // bytes of all contributions
    for_each_part(t, [&](const task& one) {
        for (int r : one.reads) {
            taken += tiles[to_size(r)].kind == tile_kind::scalar ? 0 : tile_bytes(tiles[to_size(one.writes[0])], t);
        }
    });
    index_t work = time_of_own_slice(tiles, t) + memory_time(t.device, taken - slice_bytes(tiles, t));
    const bool by_itself = times_.server_megabytes > 0; // a processor beside the device
    if (by_itself) {
        work = taken * 1000 / times_.server_megabytes + 1;
        own.what.lanes.push_back({on_.lanes() + on_.devices() + t.device, work});
    }
    wires_.finish(t.device, by_itself ? 0 : work, own.what, true, starting_time(t));
    own.what.duration = std::max<index_t>(1, work) + way;
    const std::size_t updated = all.size();
    for (int w : t.writes) {
        if (tiles[to_size(w)].device == t.device) {
            (is_persistent(tiles[to_size(w)].kind) ? own.overwrites : own.writes).push_back(w);
        }
    }
    all.push_back(std::move(own));
    for (const auto& [device, what] : pulled_from(tiles, t)) {
        index_t bytes = 0;
        for (int w : what) {
            bytes += tile_bytes(tiles[to_size(w)], t);
        }
        task_activity pull;
        pull.task = number;
        pull.in_order = true;
        task_activity arrival = pull;
        pull.predecessors = {static_cast<int>(updated)};
        pull.what.priority = t.priority;
        arrival.what.duration =
            std::max<index_t>(1, add_hops(pull, t.device, device, bytes, sent(last_of_[to_size(t.device)].pull), all,
                                          arrival.predecessors));
        arrival.overwrites = what;
        all.push_back(std::move(arrival));
    }
    return number;
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
