// SPDX-License-Identifier: Apache-2.0
// Bodies of task_activities.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/task_activities.hpp"

#include <utility>

namespace tessera::simulation {

TESSERA_INLINE task_activities::task_activities(const cluster& on, const graph_view& g, const task_times& times)
    : on_(on), g_(g), times_(times), wires_(on, times.parts, times.planned_parts),
      collectives_(on, times.parts, times.planned_parts) {
    if (times.reached.memory < 1) {
        throw error("tessera: " + std::to_string(times.reached.memory) +
                    " per cent of the memory's bandwidth are reached; give at least 1");
    }
    std::vector<int> first(on.graph().components.size(), -1); // device of a node
    std::vector<int> before(first.size(), 0);                 // devices of a node so far
    std::vector<int> sharing(first.size(), -1);               // the last link's first device
    for (int d = 0; d < on.devices(); ++d) {
        const auto node = to_size(on.node_of(d));
        first[node] = first[node] < 0 ? d : first[node];
        sharing[node] = before[node]++ % on.class_of(d).share_host_link == 0 ? d : sharing[node];
        host_.push_back(first[node]);
        host_link_.push_back(sharing[node]);
    }
    descriptions_.reserve(to_size(g.op_count));
    for (int op = 0; op < g.op_count; ++op) {
        descriptions_.push_back(g.describe(op));
    }
}

TESSERA_INLINE std::vector<task_activity> task_activities::of(const std::vector<tile>& tiles,
                                                              const std::vector<task>& tasks) {
    std::vector<task_activity> all;
    all.reserve(tasks.size() + 8);
    last_of_.assign(to_size(on_.devices()), {});
    for (int i = 0; i < static_cast<int>(tasks.size()); ++i) {
        const task& t = tasks[to_size(i)];
        const bool down = brings_down(tiles, t);
        if (down || steps_on_host(tiles, t)) {
            task_activity c = access(tiles, t, i);
            down ? cross_to_host(t.device, true, slice_bytes(tiles, t), c.what) : step_on_host(tiles, t, c.what);
            all.push_back(std::move(c));
            continue;
        }
        if (is_exchange(t)) {
            i = t.params().method == exchange::server ? add_served(tiles, tasks, i, all)
                                                      : add_message(tiles, tasks, i, all);
            continue;
        }
        if (is_in_group(t) && (t.params().slice == 0 || is_for_parts()) && times_.collectives &&
            !on_.class_of(t.device).serial_copies) {
            add_group(tiles, tasks, i, all);
            i += group_size(t) - 1;
            continue;
        }
        task_activity c = access(tiles, t, i);
        c.in_part = t.params().slices > 1 && t.kind() == task_kind::reduce;
        if (t.kind() == task_kind::compute) {
            c.what.duration = time_of(tiles, t);
            wires_.compute(t.device, c.what);
        } else if (goes_to_host(tiles, t)) {
            const tile& to = tiles[to_size(t.writes[0])];
            cross_to_host(t.device, to.on_host, cost_bytes(to), c.what);
        } else {
            wires_.begin();
            index_t local = t.kind() == task_kind::copy ? copy_transfers(tiles, t) : remote_tiles(tiles, t);
            local = brings_up(tiles, t) ? 0 : local;
            const bool starts = t.kind() != task_kind::copy && times_.measured == nullptr;
            wires_.finish(t.device, local, c.what, overlaps_compute(tiles, t), starts ? starting_time(t) : 0);
            if (t.kind() == task_kind::update) {
                add_mirrored(tiles, t, c.what);
            }
            if (brings_up(tiles, t)) {
                cross_to_host(t.device, false, slice_bytes(tiles, t), c.what);
            }
        }
        all.push_back(std::move(c));
    }
    return all;
}

TESSERA_INLINE index_t task_activities::time_of(const std::vector<tile>& tiles, const task& t) const {
    static const description none; // of a reorder, which binding adds
    return times_(g_, t.op >= 0 ? descriptions_[to_size(t.op)] : none, tiles, t, on_.class_of(t.device));
}

TESSERA_INLINE bool task_activities::overlaps_compute(const std::vector<tile>& tiles, const task& t) const {
    return on_.class_of(t.device).serial_copies ? t.stream != task_stream::compute : runs_on_side_stream(tiles, t);
}

TESSERA_INLINE index_t task_activities::memory_time(int device, index_t bytes) const {
    return cost::memory_time(bytes, on_.class_of(device), times_.reached);
}

TESSERA_INLINE task_activity task_activities::access(const std::vector<tile>& tiles, const task& t, int number) {
    task_activity c;
    c.task = number;
    c.reads = t.reads;
    for (int w : t.writes) {
        (is_persistent(tiles[to_size(w)].kind) ? c.overwrites : c.writes).push_back(w);
    }
    return c;
}

TESSERA_INLINE bool task_activities::goes_to_host(const std::vector<tile>& tiles, const task& t) const {
    return t.kind() == task_kind::copy && !on_.class_of(t.device).serial_copies && // else its memory is the host's
           (tiles[to_size(t.writes[0])].on_host || (!t.reads.empty() && tiles[to_size(t.reads[0])].on_host));
}

TESSERA_INLINE bool task_activities::brings_down(const std::vector<tile>& tiles, const task& t) const {
    return t.kind() == task_kind::reduce && tiles[to_size(t.writes[0])].on_host &&
           !on_.class_of(t.device).serial_copies;
}

TESSERA_INLINE bool task_activities::brings_up(const std::vector<tile>& tiles, const task& t) const {
    return t.kind() == task_kind::average && tiles[to_size(t.reads[0])].on_host &&
           !on_.class_of(t.device).serial_copies;
}

TESSERA_INLINE void task_activities::cross_to_host(int device, bool down, index_t bytes, activity& a) const {
    const device_class& c = on_.class_of(device);
    if (c.host_megabytes < 1) {
        throw error("tessera: what is offloaded waits in the host's memory, and nothing says how fast device class '" +
                    c.name + "' reaches it; give host_megabytes_per_second in its machine file");
    }
    const index_t busy = bytes * 1000 / c.host_megabytes + 1;
    a.lanes.push_back({first_host_lane() + 2 * host_link_[to_size(device)] + (down ? 0 : 1), busy});
    a.duration += c.launch + busy;
}

TESSERA_INLINE bool task_activities::steps_on_host(const std::vector<tile>& tiles, const task& t) const {
    const bool steps = (t.kind() == task_kind::update && tiles[to_size(t.writes[0])].on_host) ||
                       (t.kind() == task_kind::norm && tiles[to_size(t.reads[0])].on_host);
    if (steps && times_.parts > 1) {
        throw error(
            "tessera: a machine in equal parts is simulated with the optimizer's state on its devices; simulate "
            "all of it, or drop state_on_host");
    }
    return steps && !on_.class_of(t.device).serial_copies;
}

TESSERA_INLINE void task_activities::step_on_host(const std::vector<tile>& tiles, const task& t, activity& a) const {
    const device_class& c = on_.class_of(t.device);
    if (c.host_update_megabytes < 1) {
        throw error("tessera: the optimizer's state is on the host, and nothing says how fast that of device class '" +
                    c.name + "' steps; give host_update_megabytes_per_second in its machine file");
    }
    index_t bytes = 0;
    const bool norm = t.kind() == task_kind::norm; // which changes nothing
    for_each_part(t, [&](const task& one) {
        for (const int r : one.reads) {
            const tile& x = tiles[to_size(r)];
            bytes += x.on_host ? tile_bytes(x, one) : 0;
        }
        bytes += norm ? 0 : 2 * tile_bytes(tiles[to_size(one.writes[0])], one);
        bytes += one.params().state >= 0 ? (norm ? 1 : 2) * tiles[to_size(one.params().state)].bytes : 0;
    });
    a.duration = bytes * 1000 / c.host_update_megabytes + 1;
    a.lanes.push_back({first_host_lane() + 2 * on_.devices() + host_[to_size(t.device)], a.duration});
}

TESSERA_INLINE index_t task_activities::copy_transfers(const std::vector<tile>& tiles, const task& t) {
    index_t local = t.copy().clear ? cost_bytes(tiles[to_size(t.writes[0])]) : 0;
    for (const copy_segment& s : t.copy().segments) {
        const tile& source = tiles[to_size(s.source)];
        const index_t bytes = s.region.volume() * bytes_of(source.type);
        const bool remote = source.device >= 0 && source.device != t.device;
        if (remote) {
            divided() > 1 ? wires_.send_in_every_part(source.device, t.device, bytes)
                          : wires_.send(source.device, t.device, bytes);
        }
        local += s.overwrite ? (remote ? 0 : 2 * bytes) : 3 * bytes;
    }
    const device_class& c = on_.class_of(t.device);
    return (local > 0 ? memory_time(t.device, local) + 1 : 0) + (c.serial_copies ? c.launch : 0);
}

TESSERA_INLINE index_t task_activities::remote_tiles(const std::vector<tile>& tiles, const task& t) {
    const int parts = t.kind() == task_kind::update ? divided() : 1;
    for_each_sender(tiles, t, parts, [&](const tile& x, const task&) {
        wires_.send_from_parts(x.device, t.device, tile_bytes(x, t) / parts, parts);
    });
    for (int w : t.writes) {
        const tile& x = tiles[to_size(w)];
        for (int k = 0; k < parts; ++k) {
            if (x.device + k * wires_.in_part() != t.device) {
                wires_.send(t.device, x.device + k * wires_.in_part(), tile_bytes(x, t) / parts);
            }
        }
    }
    return time_of(tiles, t) / (t.kind() == task_kind::norm ? divided() : parts);
}

TESSERA_INLINE void task_activities::add_mirrored(const std::vector<tile>& tiles, const task& t, activity& a) {
    wires_.begin();
    for (int k = 1; k < divided(); ++k) {
        const int there = t.device + k * wires_.in_part();
        for_each_sender(tiles, t, times_.parts, [&](const tile& x, const task& one) {
            wires_.send(x.device, there, tile_bytes(tiles[to_size(one.writes[0])], t) / times_.parts);
        });
        for (int w : t.writes) {
            const tile& x = tiles[to_size(w)];
            wires_.send(there, x.device, tile_bytes(x, t) / times_.parts);
        }
    }
    wires_.finish_meanwhile(a);
}

TESSERA_INLINE void task_activities::add_member(std::vector<int>& members, int device) {
    const auto place = std::lower_bound(members.begin(), members.end(), device);
    if (place == members.end() || *place != device) {
        members.insert(place, device);
    }
}

TESSERA_INLINE index_t task_activities::slice_bytes(const std::vector<tile>& tiles, const task& t) {
    index_t bytes = 0;
    for (std::size_t i = 0; i < part_count(t); ++i) {
        bytes += tile_bytes(tiles[to_size(t.writes[first_write_of(t, i)])], t);
    }
    return bytes;
}

TESSERA_INLINE index_t task_activities::time_of_own_slice(const std::vector<tile>& tiles, const task& t) const {
    index_t bytes = 3 * slice_bytes(tiles, t) / divided();
    if (t.kind() == task_kind::decompress) { // the codes, and the sum
        bytes = slice_bytes(tiles, t) + code_bytes(tiles, t);
    }
    bytes += t.params().state >= 0 ? 2 * tiles[to_size(t.params().state)].bytes / divided() : 0;
    for (const task_parameter& x : t.params().parts) {
        bytes += x.state >= 0 ? 2 * tiles[to_size(x.state)].bytes / divided() : 0;
    }
    return starting_time(t) + memory_time(t.device, bytes) + 1;
}

TESSERA_INLINE index_t task_activities::code_bytes(const std::vector<tile>& tiles, const task& t) {
    index_t bytes = 0;
    for (const int r : t.reads) {
        bytes += cost_bytes(tiles[to_size(r)]);
    }
    return bytes;
}

TESSERA_INLINE index_t task_activities::bytes_of_members(const std::vector<tile>& tiles, const task& t, int own) const {
    index_t bytes = 0;
    for (std::size_t i = 0; i < part_count(t); ++i) {
        const tile& x = tiles[to_size(t.writes[first_write_of(t, i)])];
        const int members = own / times_.planned_parts * times_.parts;
        const int first = t.params().slice - t.params().slice % members;
        const index_t volume = x.region.volume();
        bytes += (even_part(volume, t.params().slices, first + members - 1).end -
                  even_part(volume, t.params().slices, first).begin) *
                 bytes_of(x.type);
    }
    return bytes;
}

TESSERA_INLINE bool task_activities::is_in_group(const task& t) const {
    if (t.kind() != task_kind::update || t.params().method != exchange::sliced) {
        return false;
    }
    return t.params().slices > 1 ? t.params().parts.empty() && t.writes.size() > 1 : divided() > 1;
}

TESSERA_INLINE index_t task_activities::starting_time(const task& t) const {
    return static_cast<index_t>(part_count(t)) * on_.class_of(t.device).launch;
}

TESSERA_INLINE bool task_activities::is_exchange(const task& t) const {
    const bool known = t.kind() == task_kind::update || t.kind() == task_kind::reduce ||
                       t.kind() == task_kind::gather || t.kind() == task_kind::average ||
                       t.kind() == task_kind::decompress;
    return known && (t.params().message >= 0 || t.params().method == exchange::server) && times_.collectives &&
           !on_.class_of(t.device).serial_copies;
}

TESSERA_INLINE void task_activities::follow(int& last, task_activity& c, std::size_t number) {
    if (last >= 0) {
        c.predecessors.push_back(last);
    }
    last = static_cast<int>(number);
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
