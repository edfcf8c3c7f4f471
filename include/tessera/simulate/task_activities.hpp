// SPDX-License-Identifier: Apache-2.0
// The activities of a plan's tasks on a cluster: one for each task, and two more, a reduce-scatter and an all-gather, for every group of update tasks
// that share a sum.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/streams.hpp"
#include "tessera/simulate/group_collectives.hpp"
#include "tessera/simulate/task_time.hpp"
#include "tessera/simulate/wires.hpp"

namespace tessera::simulation {

/// An activity with the tiles that order it: it comes after what wrote the tiles it reads and, where it overwrites a parameter, after all
/// that reads the old value.
struct task_activity {
    activity what;
    int task = -1; ///< among the tasks given: the first that it is part of ...
    int count = 1; ///< ... of so many: a collective belongs to all tasks of its group
    std::vector<int> reads;
    std::vector<int> writes;     ///< tiles that others wait for
    std::vector<int> overwrites; ///< persistent tiles
    std::vector<int> beside;     ///< activities of the same call that come before it
    bool in_order = false;       ///< it comes after what it must not overtake already
    std::vector<int> members;    ///< of a reduce-scatter or an all-gather: the devices that take part
    bool in_part = false;        ///< others write other elements of the same tiles: what reads them waits for all
};

/// Turns tasks into activities. What runs where:
/// - Compute tasks occupy their device in the plan's order, for the time that `times` says.
/// - A copy waits for all its sources and then brings the bytes from all of them at once: every lane of the routes is busy for its bytes, and the copy
///   lasts for the greatest latency, the busiest lane, and the passes over the device's own memory that local pieces and sums take.
/// - Update tasks of a group whose parameter is sliced over its copies sum and share by the best collective for their number of bytes; others,
///   and all where the times say so, read and write remote tiles as copies do.
/// - Collectives take nothing from the computation that runs beside them: that is stated, not measured.
/// - Of a machine in equal parts (task_times::parts) the first one's tasks are given. A parameter then has a copy in every part: its updates take slices
///   that are so much smaller, and their collectives, or what goes to and from servers, reach over all parts.
/// - Copies between devices, sums and updates of parameters run beside the computation (is_beside()), and all else on the device's list: on GPUs these
///   are two streams. They share one engine, so that a copy's and an update's own work takes its time from the computation; what is ready first
///   goes first. Where the device copies in turn everything takes its turn in its list, unless the plan has put
///   it on its communication stream. In turn there are no collectives: every thread reads and writes its slice of the others' memory itself.
class task_activities {
public:
    task_activities(const cluster& on, const graph_view& g, const task_times& times)
        : on_(on), g_(g), times_(times), wires_(on, times.parts), collectives_(on, times.parts) {
        if (times.reached.memory < 1) {
            throw error("tessera: " + std::to_string(times.reached.memory) +
                        " per cent of the memory's bandwidth are reached; give at least 1");
        }
        descriptions_.reserve(at(g.op_count));
        for (int op = 0; op < g.op_count; ++op) {
            descriptions_.push_back(g.describe(op));
        }
    }

    /// Links' lanes come first, then one for each device, and one for each server that adds up by itself.
    int lanes() const { return on_.lanes() + on_.devices() * (times_.server_megabytes > 0 ? 2 : 1); }
    const cluster& machine() const { return on_; }
    /// True where an activity has a lane only because its device's list and what runs beside it share an engine.
    bool is_own_engine(const activity& a, const lane_use& u) const { return a.device >= 0 && u.lane >= on_.lanes(); }

    /// The activities of tasks that follow each other in a plan; a group of updates must not be cut.
    std::vector<task_activity> of(const std::vector<tile>& tiles, const std::vector<task>& tasks) {
        std::vector<task_activity> all;
        all.reserve(tasks.size() + 8);
        last_of_.assign(static_cast<std::size_t>(on_.devices()), {});
        for (int i = 0; i < static_cast<int>(tasks.size()); ++i) {
            const task& t = tasks[at(i)];
            if (is_exchange(t)) {
                i = t.how == exchange::server ? add_served(tiles, tasks, i, all) : add_message(tiles, tasks, i, all);
                continue;
            }
            const bool shares = t.kind == task_kind::update && t.how == exchange::sliced &&
                                (t.slices > 1 ? t.parts.empty() && t.writes.size() > 1 : times_.parts > 1);
            if (shares && t.slice == 0 && times_.collectives && !on_.class_of(t.device).copies_in_turn) {
                add_group(tiles, tasks, i, all);
                i += t.slices - 1;
                continue;
            }
            task_activity c = access(tiles, t, i);
            c.in_part = t.slices > 1 && t.kind == task_kind::reduce;
            if (t.kind == task_kind::compute) {
                c.what.duration = time_of(tiles, t);
                wires_.compute(t.device, c.what);
            } else {
                wires_.begin();
                const index_t local = t.kind == task_kind::copy ? copy_transfers(tiles, t) : remote_tiles(tiles, t);
                const bool starts = t.kind != task_kind::copy && times_.measured == nullptr;
                wires_.finish(t.device, local, c.what, runs_beside(tiles, t), starts ? starting_time(t) : 0);
                if (t.kind == task_kind::update) {
                    add_mirrored(tiles, t, c.what);
                }
            }
            all.push_back(static_cast<task_activity&&>(c));
        }
        return all;
    }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    index_t time_of(const std::vector<tile>& tiles, const task& t) const {
        static const description none; // of a reorder, which binding adds
        return times_(g_, t.op >= 0 ? descriptions_[at(t.op)] : none, tiles, t, on_.class_of(t.device));
    }
    bool runs_beside(const std::vector<tile>& tiles, const task& t) const {
        return on_.class_of(t.device).copies_in_turn ? t.stream != task_stream::compute : is_beside(tiles, t);
    }
    /// Nanoseconds to pass over bytes of a device's own memory.
    index_t memory_time(int device, index_t bytes) const {
        return bytes * 1000 * 100 / (on_.class_of(device).memory_megabytes * times_.reached.memory);
    }

    static task_activity access(const std::vector<tile>& tiles, const task& t, int number) {
        task_activity c;
        c.task = number;
        c.reads = t.reads;
        for (int w : t.writes) {
            (is_persistent(tiles[at(w)].kind) ? c.overwrites : c.writes).push_back(w);
        }
        return c;
    }

    /// Returns the nanoseconds of passes over the device's own memory: pieces that are here already (or come from the caller) are read
    /// and written, and what is added to reads the sum once more.
    index_t copy_transfers(const std::vector<tile>& tiles, const task& t) {
        index_t local = t.clear ? cost_bytes(tiles[at(t.writes[0])]) : 0;
        for (const copy_segment& s : t.segments) {
            const tile& source = tiles[at(s.source)];
            const index_t bytes = s.region.volume() * bytes_of(source.type);
            const bool remote = source.device >= 0 && source.device != t.device;
            if (remote) {
                times_.parts > 1 ? wires_.send_in_every_part(source.device, t.device, bytes)
                                 : wires_.send(source.device, t.device, bytes);
            }
            local += s.overwrite ? (remote ? 0 : 2 * bytes) : 3 * bytes;
        }
        const device_class& c = on_.class_of(t.device);
        return (local > 0 ? memory_time(t.device, local) + 1 : 0) + (c.copies_in_turn ? c.launch : 0);
    }
    static index_t cost_bytes(const tile& t) { return t.elements * bytes_of(t.type); }

    /// Calls `f` with every tile of other devices that a task brings for one of its parameters; norms of all gradients come with the first.
    template <class Function>
    void for_each_sender(const std::vector<tile>& tiles, const task& t, int parts, Function&& f) {
        // A GPU adds up what its own tasks contribute before it crosses (as before a collective); threads read every contribution.
        const bool added = t.kind == task_kind::update && !on_.class_of(t.device).copies_in_turn;
        bool first = true;
        for_each_part(t, [&](const task& one) {
            senders_.clear();
            for (int r : one.reads) {
                const tile& x = tiles[at(r)];
                if (x.device < 0 || (parts == 1 && x.device == t.device) ||
                    (!first && x.kind == tile_kind::scalar && !(x.region == layer_norm_region))) {
                    continue;
                }
                if (!added || std::find(senders_.begin(), senders_.end(), x.device) == senders_.end()) {
                    senders_.push_back(x.device);
                    f(x, one);
                }
            }
            first = false;
        });
    }

    /// Remote tiles that a reduce or update task reads and writes; returns the time of the task itself.
    index_t remote_tiles(const std::vector<tile>& tiles, const task& t) {
        const int parts = t.kind == task_kind::update ? times_.parts : 1;
        for_each_sender(tiles, t, parts, [&](const tile& x, const task&) {
            wires_.send_from_parts(x.device, t.device, tile_bytes(x, t) / parts, parts);
        });
        for (int w : t.writes) {
            const tile& x = tiles[at(w)];
            for (int k = 0; k < parts; ++k) {
                if (x.device + k * wires_.in_part() != t.device) {
                    wires_.send(t.device, x.device + k * wires_.in_part(), tile_bytes(x, t) / parts);
                }
            }
        }
        return time_of(tiles, t) / (t.kind == task_kind::norm ? times_.parts : parts);
    }
    /// What the other parts' updates send to and take from this one meanwhile: the mirror images of what this one does there.
    void add_mirrored(const std::vector<tile>& tiles, const task& t, activity& a) {
        wires_.begin();
        for (int k = 1; k < times_.parts; ++k) {
            const int there = t.device + k * wires_.in_part();
            for_each_sender(tiles, t, times_.parts, [&](const tile& x, const task& one) {
                wires_.send(x.device, there, tile_bytes(tiles[at(one.writes[0])], t) / times_.parts);
            });
            for (int w : t.writes) {
                const tile& x = tiles[at(w)];
                wires_.send(there, x.device, tile_bytes(x, t) / times_.parts);
            }
        }
        wires_.finish_meanwhile(a);
    }

    // ---- groups of updates, and messages: collective_activities.hpp -------------------------------------------------------------

    static void add_member(std::vector<int>& members, int device) {
        const auto place = std::lower_bound(members.begin(), members.end(), device);
        if (place == members.end() || *place != device) {
            members.insert(place, device);
        }
    }

    /// What a task writes once for each of its parameters.
    static index_t slice_bytes(const std::vector<tile>& tiles, const task& t) {
        index_t bytes = 0;
        for (std::size_t i = 0; i < part_count(t); ++i) {
            bytes += tile_bytes(tiles[at(t.writes[first_write_of(t, i)])], t);
        }
        return bytes;
    }

    /// The summed gradients' slices, the parameters', and the optimizer's state: the rest has come and goes by collectives. One launch for each.
    index_t time_of_own_slice(const std::vector<tile>& tiles, const task& t) const {
        index_t bytes = 3 * slice_bytes(tiles, t) / times_.parts;
        if (t.kind == task_kind::decompress) { // the codes, and the sum
            bytes = slice_bytes(tiles, t) + code_bytes(tiles, t);
        }
        bytes += t.state >= 0 ? 2 * tiles[at(t.state)].bytes / times_.parts : 0;
        for (const task_part& x : t.parts) {
            bytes += x.state >= 0 ? 2 * tiles[at(x.state)].bytes / times_.parts : 0;
        }
        return starting_time(t) + memory_time(t.device, bytes) + 1;
    }
    /// Of all codes that a decompression reads.
    static index_t code_bytes(const std::vector<tile>& tiles, const task& t) {
        index_t bytes = 0;
        for (const int r : t.reads) {
            bytes += cost_bytes(tiles[at(r)]);
        }
        return bytes;
    }
    /// What of that, and of the roofline's time, starting a call for each parameter takes.
    index_t starting_time(const task& t) const {
        return static_cast<index_t>(part_count(t)) * on_.class_of(t.device).launch;
    }

    bool is_exchange(const task& t) const {
        const bool known = t.kind == task_kind::update || t.kind == task_kind::reduce || t.kind == task_kind::gather ||
                           t.kind == task_kind::average || t.kind == task_kind::decompress;
        return known && (t.message >= 0 || t.how == exchange::server) && times_.collectives &&
               !on_.class_of(t.device).copies_in_turn;
    }
    void add_group(const std::vector<tile>& tiles, const std::vector<task>& tasks, int first,
                   std::vector<task_activity>& all);
    int add_message(const std::vector<tile>& tiles, const std::vector<task>& tasks, int first,
                    std::vector<task_activity>& all);
    int add_served(const std::vector<tile>& tiles, const std::vector<task>& tasks, int number,
                   std::vector<task_activity>& all);
    index_t add_hops(task_activity& c, int from, int to, index_t bytes, int& last, std::vector<task_activity>& all,
                     std::vector<int>& arrived);
    void follow(int& last, task_activity& c, std::size_t number) {
        if (last >= 0) {
            c.beside.push_back(last);
        }
        last = static_cast<int>(number);
    }

    /// The last activity of each kind that a device has been part of: messages do not overtake each other.
    struct last_collectives {
        int collective = -1;
        int push = -1;
        int pull = -1;
    };

    const cluster& on_;
    graph_view g_;
    task_times times_;
    wires wires_;
    group_collectives collectives_;
    std::vector<last_collectives> last_of_;
    std::vector<description> descriptions_;
    std::vector<int> senders_;
};

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
