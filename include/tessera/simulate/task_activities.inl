// SPDX-License-Identifier: Apache-2.0
// Bodies of task_activities.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/task_activities.hpp"

#include <utility>

namespace tessera::simulation {

TESSERA_INLINE task_activities::task_activities(const cluster& on, const graph_view& g, const task_times& times)
    : on_(on), g_(g), times_(times), wires_(on, times.parts), collectives_(on, times.parts) {
    if (times.reached.memory < 1) {
        throw error("tessera: " + std::to_string(times.reached.memory) +
                    " per cent of the memory's bandwidth are reached; give at least 1");
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
        if (is_exchange(t)) {
            i = t.params().method == exchange::server ? add_served(tiles, tasks, i, all)
                                                      : add_message(tiles, tasks, i, all);
            continue;
        }
        const bool shares =
            t.kind() == task_kind::update && t.params().method == exchange::sliced &&
            (t.params().slices > 1 ? t.params().parts.empty() && t.writes.size() > 1 : times_.parts > 1);
        if (shares && t.params().slice == 0 && times_.collectives && !on_.class_of(t.device).serial_copies) {
            add_group(tiles, tasks, i, all);
            i += t.params().slices - 1;
            continue;
        }
        task_activity c = access(tiles, t, i);
        c.in_part = t.params().slices > 1 && t.kind() == task_kind::reduce;
        if (t.kind() == task_kind::compute) {
            c.what.duration = time_of(tiles, t);
            wires_.compute(t.device, c.what);
        } else if (goes_to_host(tiles, t)) {
            cross_to_host(tiles, t, c.what);
        } else {
            wires_.begin();
            const index_t local = t.kind() == task_kind::copy ? copy_transfers(tiles, t) : remote_tiles(tiles, t);
            const bool starts = t.kind() != task_kind::copy && times_.measured == nullptr;
            wires_.finish(t.device, local, c.what, overlaps_compute(tiles, t), starts ? starting_time(t) : 0);
            if (t.kind() == task_kind::update) {
                add_mirrored(tiles, t, c.what);
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

TESSERA_INLINE void task_activities::cross_to_host(const std::vector<tile>& tiles, const task& t, activity& a) const {
    const device_class& c = on_.class_of(t.device);
    if (c.host_megabytes < 1) {
        throw error(
            "tessera: what operators offload waits in the host's memory, and nothing says how fast device class "
            "'" +
            c.name + "' reaches it; give host_megabytes_per_second in its machine file");
    }
    const tile& to = tiles[to_size(t.writes[0])];
    const index_t busy = cost_bytes(to) * 1000 / c.host_megabytes + 1;
    a.lanes.push_back({first_host_lane() + 2 * t.device + (to.on_host ? 0 : 1), busy});
    a.duration = c.launch + busy;
}

TESSERA_INLINE index_t task_activities::copy_transfers(const std::vector<tile>& tiles, const task& t) {
    index_t local = t.copy().clear ? cost_bytes(tiles[to_size(t.writes[0])]) : 0;
    for (const copy_segment& s : t.copy().segments) {
        const tile& source = tiles[to_size(s.source)];
        const index_t bytes = s.region.volume() * bytes_of(source.type);
        const bool remote = source.device >= 0 && source.device != t.device;
        if (remote) {
            times_.parts > 1 ? wires_.send_in_every_part(source.device, t.device, bytes)
                             : wires_.send(source.device, t.device, bytes);
        }
        local += s.overwrite ? (remote ? 0 : 2 * bytes) : 3 * bytes;
    }
    const device_class& c = on_.class_of(t.device);
    return (local > 0 ? memory_time(t.device, local) + 1 : 0) + (c.serial_copies ? c.launch : 0);
}

TESSERA_INLINE index_t task_activities::remote_tiles(const std::vector<tile>& tiles, const task& t) {
    const int parts = t.kind() == task_kind::update ? times_.parts : 1;
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
    return time_of(tiles, t) / (t.kind() == task_kind::norm ? times_.parts : parts);
}

TESSERA_INLINE void task_activities::add_mirrored(const std::vector<tile>& tiles, const task& t, activity& a) {
    wires_.begin();
    for (int k = 1; k < times_.parts; ++k) {
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
    index_t bytes = 3 * slice_bytes(tiles, t) / times_.parts;
    if (t.kind() == task_kind::decompress) { // the codes, and the sum
        bytes = slice_bytes(tiles, t) + code_bytes(tiles, t);
    }
    bytes += t.params().state >= 0 ? 2 * tiles[to_size(t.params().state)].bytes / times_.parts : 0;
    for (const task_parameter& x : t.params().parts) {
        bytes += x.state >= 0 ? 2 * tiles[to_size(x.state)].bytes / times_.parts : 0;
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
