// SPDX-License-Identifier: Apache-2.0
// How a cluster carries out the tasks of a plan: one activity for each task, and two more, a reduce-scatter and an all-gather, for every group of
// update tasks that share a sum.
#pragma once

#include "tessera/cost/collective.hpp"
#include "tessera/simulate/schedule.hpp"
#include "tessera/simulate/task_time.hpp"

#include <utility>

namespace tessera::simulation {

/// An activity with the tiles that order it: it comes after what wrote the tiles it reads and, where it overwrites a parameter, after all
/// that reads the old value.
struct carried {
    activity what;
    int task = -1; ///< among the tasks given: the first that it is part of ...
    int count = 1; ///< ... of so many: a collective belongs to all tasks of its group
    std::vector<int> reads;
    std::vector<int> writes;     ///< tiles that others wait for
    std::vector<int> overwrites; ///< persistent tiles
    std::vector<int> beside;     ///< activities of the same call that come before it
    bool in_order = false;       ///< it comes after what it must not overtake already
    bool in_part = false;        ///< others write other elements of the same tiles: what reads them waits for all
};

/// Turns tasks into activities. What runs where:
/// - Compute tasks occupy their device in the plan's order, for the time that `times` says.
/// - A copy waits for all its sources and then brings the bytes from all of them at once: every lane of the routes is busy for its bytes, and the copy
///   lasts for the greatest latency, the busiest lane, and the passes over the device's own memory that local pieces and sums take.
/// - Update tasks of a group whose parameter is sliced over its copies sum and share by the best collective for their number of bytes; others,
///   and all where the times say so, read and write remote tiles as copies do.
/// - Of a machine in equal parts (task_times::parts) the first one's tasks are given. A parameter then has a copy in every part: its updates take slices
///   that are so much smaller, and their collectives, or their messages to and from servers, reach over all parts.
/// - Copies and updates run beside the computation, one after the other on a lane of the device's own, or, where the device copies in turn,
///   among its tasks, unless the plan has put them on its communication lane. In turn there are no collectives: every thread reads and
///   writes its slice of the others' memory itself.
class carrier {
public:
    carrier(const cluster& on, const graph_view& g, const task_times& times) : on_(on), g_(g), times_(times) {
        for (int op = 0; op < g.op_count; ++op) {
            descriptions_.push_back(g.describe(op));
        }
        busy_.resize(static_cast<std::size_t>(on.lanes()), 0);
        in_part_ = on.devices() / times.parts;
        shared_.resize(times.parts > 1 ? at(in_part_ * in_part_) : 0);
    }

    /// Links' lanes come first, then one for each device.
    int lanes() const { return on_.lanes() + on_.devices(); }
    const cluster& machine() const { return on_; }

    /// The activities of tasks that follow each other in a plan; a group of updates must not be cut.
    std::vector<carried> carry(const std::vector<tile>& tiles, const std::vector<task>& tasks) {
        std::vector<carried> all;
        all.reserve(tasks.size() + 8);
        last_of_.assign(static_cast<std::size_t>(on_.devices()), {});
        for (int i = 0; i < static_cast<int>(tasks.size()); ++i) {
            const task& t = tasks[at(i)];
            if (is_exchange(t)) {
                i = t.how == exchange::server ? add_served(tiles, tasks, i, all) : add_message(tiles, tasks, i, all);
                continue;
            }
            const bool shares = t.kind == task_kind::update && t.how == exchange::sliced &&
                                (t.slices > 1 ? t.writes.size() > 1 : times_.parts > 1);
            if (shares && t.slice == 0 && times_.collectives && !on_.class_of(t.device).copies_in_turn) {
                add_group(tiles, tasks, i, all);
                i += t.slices - 1;
                continue;
            }
            carried c = access(tiles, t, i);
            c.in_part = t.slices > 1 && t.kind == task_kind::reduce;
            if (t.kind == task_kind::compute) {
                c.what.device = t.device;
                c.what.duration = time_of(tiles, t);
            } else {
                begin_messages();
                const index_t local = t.kind == task_kind::copy ? copy_messages(tiles, t) : remote_tiles(tiles, t);
                finish_messages(t.device, local, c.what, t.lane != task_lane::compute);
                if (t.kind == task_kind::update && times_.parts > 1) {
                    add_mirrored(tiles, t, c.what);
                }
            }
            all.push_back(static_cast<carried&&>(c));
        }
        return all;
    }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    index_t time_of(const std::vector<tile>& tiles, const task& t) const {
        static const description none; // of a reorder, which binding adds
        return times_(g_, t.op >= 0 ? descriptions_[at(t.op)] : none, tiles, t, on_.class_of(t.device));
    }
    /// Nanoseconds to pass over bytes of a device's own memory.
    index_t memory_time(int device, index_t bytes) const {
        return bytes * 1000 * 100 / (on_.class_of(device).memory_megabytes * times_.reached.memory);
    }

    static carried access(const std::vector<tile>& tiles, const task& t, int number) {
        carried c;
        c.task = number;
        c.reads = t.reads;
        for (int w : t.writes) {
            (is_persistent(tiles[at(w)].kind) ? c.overwrites : c.writes).push_back(w);
        }
        return c;
    }

    // ---- messages of one activity: bytes over routes ------------------------------------------------------------------

    void begin_messages() {
        latency_ = 0;
        used_.clear();
    }
    void message(int from, int to, index_t bytes) {
        const route r = on_.between(from, to);
        latency_ = std::max(latency_, r.latency);
        for (int lane : r.lanes) {
            if (busy_[at(lane)] == 0) {
                used_.push_back(lane);
            }
            busy_[at(lane)] += bytes * 1000 + 1; // + 1: also a lane that nothing measurable passes is used
        }
    }
    /// The same where other parts send theirs at the same time, some over the same lanes.
    void message_of_parts(int from, int to, index_t bytes) {
        std::vector<std::pair<int, int>>& lanes = shared_[at(from * in_part_ + to)];
        const route mine = on_.between(from, to);
        if (lanes.empty()) {
            for (int lane : mine.lanes) {
                lanes.push_back({lane, 1});
                for (int k = 1; k < times_.parts; ++k) {
                    for (int other : on_.between(from + k * in_part_, to + k * in_part_).lanes) {
                        lanes.back().second += other == lane ? 1 : 0;
                    }
                }
            }
        }
        latency_ = std::max(latency_, mine.latency);
        for (const auto& [lane, parts] : lanes) {
            if (busy_[at(lane)] == 0) {
                used_.push_back(lane);
            }
            busy_[at(lane)] += parts * bytes * 1000 + 1;
        }
    }
    /// The activity that the messages make, with `local` nanoseconds of the device's own work, `beside` its computation or where it belongs.
    void finish_messages(int device, index_t local, activity& a, bool beside = false) {
        index_t wire = 0;
        for (int lane : used_) {
            const index_t busy = busy_[at(lane)] / on_.lane_megabytes(lane);
            busy_[at(lane)] = 0;
            wire = std::max(wire, busy);
            a.lanes.push_back({lane, busy});
        }
        const bool in_turn = on_.class_of(device).copies_in_turn;
        if (in_turn && !beside) {
            a.device = device;
        } else if (in_turn) {
            a.lanes.push_back({on_.lanes() + device, std::max<index_t>(1, latency_ + wire + local)});
        } else if (local > 0) {
            a.lanes.push_back({on_.lanes() + device, local});
        }
        a.duration = std::max<index_t>(1, latency_ + wire + local);
    }

    /// Returns the nanoseconds of passes over the device's own memory: pieces that are here already (or come from the caller) are read
    /// and written, and what is added to reads the sum once more.
    index_t copy_messages(const std::vector<tile>& tiles, const task& t) {
        index_t local = t.clear ? cost_bytes(tiles[at(t.writes[0])]) : 0;
        for (const copy_segment& s : t.segments) {
            const tile& source = tiles[at(s.source)];
            const index_t bytes = s.region.volume() * bytes_of(source.type);
            const bool remote = source.device >= 0 && source.device != t.device;
            if (remote) {
                times_.parts > 1 ? message_of_parts(source.device, t.device, bytes)
                                 : message(source.device, t.device, bytes);
            }
            local += s.overwrite ? (remote ? 0 : 2 * bytes) : 3 * bytes;
        }
        const device_class& c = on_.class_of(t.device);
        return (local > 0 ? memory_time(t.device, local) + 1 : 0) + (c.copies_in_turn ? c.launch : 0);
    }
    static index_t cost_bytes(const tile& t) { return t.elements * bytes_of(t.type); }

    /// Remote tiles that a reduce or update task reads and writes; returns the time of the task itself.
    index_t remote_tiles(const std::vector<tile>& tiles, const task& t) {
        // A GPU adds up what its own tasks contribute before it crosses (as before a collective); threads read every contribution.
        const bool added = t.kind == task_kind::update && !on_.class_of(t.device).copies_in_turn;
        const int parts = t.kind == task_kind::update ? times_.parts : 1;
        senders_.clear();
        for (int r : t.reads) {
            const tile& x = tiles[at(r)];
            if (x.device < 0 || (parts == 1 && x.device == t.device)) {
                continue;
            }
            if (!added || std::find(senders_.begin(), senders_.end(), x.device) == senders_.end()) {
                senders_.push_back(x.device);
                from_all_parts(x.device, t.device, tile_bytes(x, t) / parts, parts);
            }
        }
        for (int w : t.writes) {
            const tile& x = tiles[at(w)];
            for (int k = 0; k < parts; ++k) {
                if (x.device + k * in_part_ != t.device) {
                    message(t.device, x.device + k * in_part_, tile_bytes(x, t) / parts);
                }
            }
        }
        return time_of(tiles, t) / parts;
    }
    void from_all_parts(int from, int to, index_t bytes, int parts) {
        for (int k = 0; k < parts; ++k) {
            if (from + k * in_part_ != to) {
                message(from + k * in_part_, to, bytes);
            }
        }
    }
    /// What the other parts' updates send to and take from this one meanwhile: the mirror images of what this one does there.
    void add_mirrored(const std::vector<tile>& tiles, const task& t, activity& a) {
        begin_messages();
        for (std::size_t i = 0; i < senders_.size(); ++i) {
            for (int k = 1; k < times_.parts; ++k) {
                message(senders_[i], t.device + k * in_part_, tile_bytes(tiles[at(t.writes[0])], t) / times_.parts);
            }
        }
        for (int w : t.writes) {
            const tile& x = tiles[at(w)];
            for (int k = 1; k < times_.parts; ++k) {
                message(t.device + k * in_part_, x.device, tile_bytes(x, t) / times_.parts);
            }
        }
        for (int lane : used_) {
            const index_t busy = busy_[at(lane)] / on_.lane_megabytes(lane);
            busy_[at(lane)] = 0;
            const auto known =
                std::find_if(a.lanes.begin(), a.lanes.end(), [&](const lane_use& u) { return u.lane == lane; });
            if (known == a.lanes.end()) {
                a.lanes.push_back({lane, busy});
            } else {
                known->busy += busy;
            }
        }
        used_.clear();
    }

    // ---- groups of updates ---------------------------------------------------------------------------------------------

    struct choice {
        std::vector<int> members;
        cost::collective_choice costs;
    };

    const cost::collective_choice& choice_for(const std::vector<int>& members) {
        std::uint64_t h = 0xcbf29ce484222325ULL;
        for (int m : members) {
            h = (h ^ static_cast<std::uint64_t>(m)) * 0x100000001b3ULL;
        }
        std::vector<choice>& bucket = choices_[static_cast<std::size_t>(h % choices_.size())];
        for (const choice& c : bucket) {
            if (c.members == members) {
                return c.costs;
            }
        }
        if (bucket.size() > 64) { // random placements: forget rather than grow without end
            bucket.clear();
        }
        bucket.push_back({members, cost::all_reduce_halves(on_, in_all_parts(members))});
        return bucket.back().costs;
    }
    std::vector<int> in_all_parts(const std::vector<int>& members) const {
        std::vector<int> all;
        for (int k = 0; k < times_.parts; ++k) {
            for (int m : members) {
                all.push_back(m + k * in_part_);
            }
        }
        std::sort(all.begin(), all.end(), [this](int a, int b) {
            return on_.node_of(a) != on_.node_of(b) ? on_.node_of(a) < on_.node_of(b) : a < b;
        });
        return all;
    }

    static void add_member(std::vector<int>& members, int device) {
        const auto place = std::lower_bound(members.begin(), members.end(), device);
        if (place == members.end() || *place != device) {
            members.insert(place, device);
        }
    }

    /// Half of a collective as an activity; nothing for a single member.
    carried half(const std::vector<int>& members, index_t bytes) {
        carried c;
        const cost::collective_cost& best = choice_for(members).best(bytes);
        c.what.duration = std::max<index_t>(1, best.time(bytes));
        for (const cost::lane_load& l : best.lanes) {
            c.what.lanes.push_back({l.lane, cost::collective_cost::scaled(l.busy, bytes)});
        }
        return c;
    }

    void add_group(const std::vector<tile>& tiles, const std::vector<task>& tasks, int first,
                   std::vector<carried>& all) {
        const task& leader = tasks[at(first)];
        const index_t bytes = cost_bytes(tiles[at(leader.writes[0])]);
        std::vector<int> readers;
        std::vector<int> writers;
        bool sums = times_.parts > 1;
        for (int r : leader.reads) {
            add_member(readers, tiles[at(r)].device);
            sums = sums || tiles[at(r)].device != leader.device;
        }
        // With clipping each task reads its own sum and all norms; then there is nothing to scatter.
        sums = sums && leader.norms.empty();
        for (int w : leader.writes) {
            add_member(writers, tiles[at(w)].device);
            add_member(readers, tiles[at(w)].device);
        }
        int scatter = -1;
        if (sums) {
            scatter = static_cast<int>(all.size());
            all.push_back(half(readers, bytes));
            all.back().reads = leader.reads;
            all.back().task = first;
            all.back().count = leader.slices;
        }
        std::vector<int> updates;
        for (int i = first; i < first + leader.slices; ++i) {
            const task& t = tasks[at(i)];
            carried c;
            c.task = i;
            begin_messages();
            if (scatter >= 0) {
                c.beside.push_back(scatter);
            } else {
                c.reads = t.reads;
                for (int r : t.reads) {
                    const tile& x = tiles[at(r)];
                    if (x.device != t.device) {
                        message(x.device, t.device, tile_bytes(x, t));
                    }
                }
            }
            finish_messages(t.device, time_of_own_slice(tiles, t), c.what);
            updates.push_back(static_cast<int>(all.size()));
            all.push_back(static_cast<carried&&>(c));
        }
        if (writers.size() > 1 || times_.parts > 1) {
            all.push_back(half(writers, bytes));
        } else { // several copies on one device
            carried local;
            local.what.lanes.push_back({on_.lanes() + writers[0], memory_time(writers[0], bytes) + 1});
            local.what.duration = memory_time(writers[0], bytes) + 1;
            all.push_back(static_cast<carried&&>(local));
        }
        all.back().overwrites = leader.writes;
        all.back().beside = updates;
        all.back().task = first;
        all.back().count = leader.slices;
    }

    /// The summed gradient's slice, the parameter's, and the optimizer's state: the rest has come and goes by collectives.
    index_t time_of_own_slice(const std::vector<tile>& tiles, const task& t) const {
        index_t bytes = 3 * tile_bytes(tiles[at(t.writes[0])], t) / times_.parts;
        bytes += t.state >= 0 ? 2 * tiles[at(t.state)].bytes / times_.parts : 0;
        return on_.class_of(t.device).launch + memory_time(t.device, bytes) + 1;
    }

    // ---- messages: see carry_exchange.hpp --------------------------------------------------------------------------------

    bool is_exchange(const task& t) const {
        const bool known = t.kind == task_kind::update || t.kind == task_kind::reduce || t.kind == task_kind::gather ||
                           t.kind == task_kind::average;
        return known && (t.message >= 0 || t.how == exchange::server) && times_.collectives &&
               !on_.class_of(t.device).copies_in_turn;
    }
    int add_message(const std::vector<tile>& tiles, const std::vector<task>& tasks, int first,
                    std::vector<carried>& all);
    int add_served(const std::vector<tile>& tiles, const std::vector<task>& tasks, int number,
                   std::vector<carried>& all);
    index_t add_hops(carried& c, int from, int to, index_t bytes, int& last, std::vector<carried>& all,
                     std::vector<int>& arrived);
    void follow(int& last, carried& c, std::size_t number) {
        if (last >= 0) {
            c.beside.push_back(last);
        }
        last = static_cast<int>(number);
    }

    /// The last activity of each kind that a device has been part of: messages do not overtake each other.
    struct last_messages {
        int collective = -1;
        int push = -1;
        int pull = -1;
    };

    const cluster& on_;
    graph_view g_;
    task_times times_;
    std::vector<last_messages> last_of_;
    std::vector<description> descriptions_;
    std::vector<index_t> busy_;
    std::vector<int> used_;
    std::vector<int> senders_;
    index_t latency_ = 0;
    int in_part_ = 0; ///< devices of each of the machine's equal parts
    std::vector<std::vector<std::pair<int, int>>>
        shared_; ///< by two devices of a part: their lanes, and how many parts use each alike
    std::vector<std::vector<choice>> choices_ = std::vector<std::vector<choice>>(509);
};

} // namespace tessera::simulation
