// SPDX-License-Identifier: Apache-2.0
// The activities of a plan's tasks on a cluster: one for each task, and two more, a reduce-scatter and an all-gather,
// for every group of update tasks that share a sum.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/streams.hpp"
#include "tessera/simulate/group_collectives.hpp"
#include "tessera/simulate/task_time.hpp"
#include "tessera/simulate/wires.hpp"

namespace tessera::simulation {

/// An activity with the tiles that order it: it comes after what wrote the tiles it reads and, where it overwrites a
/// parameter, after all that reads the old value.
struct task_activity {
    activity what;
    int task = -1; ///< among the tasks given: the first that it is part of ...
    int count = 1; ///< ... of so many: a collective belongs to all tasks of its group
    std::vector<int> reads;
    std::vector<int> writes;       ///< tiles that others wait for
    std::vector<int> overwrites;   ///< persistent tiles
    std::vector<int> predecessors; ///< activities of the same call that come before it
    bool in_order = false;         ///< it comes after what it must not overtake already
    std::vector<int> members;      ///< of a reduce-scatter or an all-gather: the devices that take part
    bool in_part = false;          ///< others write other elements of the same tiles: what reads them waits for all
};

/// Turns tasks into activities. What runs where:
/// - Compute tasks occupy their device in the plan's order, for the time that `times` says.
/// - A copy waits for all its sources and then brings the bytes from all of them at once: every lane of the routes is
///   busy for its bytes, and the copy lasts for the greatest latency, the busiest lane, and the passes over the
///   device's own memory that local pieces and sums take.
/// - Update tasks of a group whose parameter is sliced over its copies sum and share by the best collective for their
///   number of bytes; others, and all where the times say so, read and write remote tiles as copies do.
/// - Collectives take nothing from the computation that runs beside them: that is stated, not measured.
/// - What waits in the host's memory crosses the device's link to its host, a lane in each direction, which devices
///   behind one switch share (device_class::share_host_link). Updates on the host take turns on their node's processor,
///   at the bytes of gradients, parameters and state over device_class::host_update_megabytes. Threads of a host, which
///   copy in turn, have no other memory: there they are updates as any.
/// - Of a machine in equal parts (task_times::parts) the first one's tasks are given. A parameter then has a copy in
///   every part: its updates take slices that are so much smaller, and their collectives, or what goes to and from
///   servers, reach over all parts.
/// - Copies between devices, sums and updates of parameters run beside the computation (runs_on_side_stream()), and all
///   else on the device's list: on GPUs these are two streams. They share one engine, so that a copy's and an update's
///   own work takes its time from the computation; what is ready first goes first. Where the device copies in turn
///   everything takes its turn in its list, unless the plan has put it on its communication stream. In turn there are
///   no collectives: every thread reads and writes its slice of the others' memory itself.
class task_activities {
public:
    task_activities(const cluster& on, const graph_view& g, const task_times& times);

    /// Links' lanes come first, then one for each device, one for each server that adds up by itself, and those to and
    /// from each device's host (the first's of those that share a link), and each host's processor (by its first
    /// device).
    int lanes() const { return first_host_lane() + 3 * on_.devices(); }
    const cluster& machine() const { return on_; }
    /// True where an activity has a lane only because its device's list and what runs beside it share an engine.
    bool is_own_engine(const activity& a, const lane_use& u) const { return a.device >= 0 && u.lane >= on_.lanes(); }

    /// What plans have sent and shared so far, for part_lanes.
    const group_collectives& collectives() const { return collectives_; }
    const wires& transfers() const { return wires_; }
    /// From now on activities use of all lanes those that stand for themselves: representative[lane] == lane.
    void use_lanes(std::vector<int> representative) { collectives_.use_lanes(std::move(representative)); }

    /// The activities of tasks that follow each other in a plan; a group of updates must not be cut.
    std::vector<task_activity> of(const std::vector<tile>& tiles, const std::vector<task>& tasks);

private:
    index_t time_of(const std::vector<tile>& tiles, const task& t) const;
    bool overlaps_compute(const std::vector<tile>& tiles, const task& t) const;
    int first_host_lane() const { return on_.lanes() + on_.devices() * (times_.server_megabytes > 0 ? 2 : 1); }
    /// A copy of a GPU to its host's memory, or from there: its own link's lane in that direction is busy, and nothing
    /// else of the device.
    bool goes_to_host(const std::vector<tile>& tiles, const task& t) const;
    /// The same of a gradient's slice that goes down, and of one of a parameter that comes up.
    bool brings_down(const std::vector<tile>& tiles, const task& t) const;
    bool brings_up(const std::vector<tile>& tiles, const task& t) const;
    void cross_to_host(int device, bool down, index_t bytes, activity& a) const;
    /// A norm or an update that the host's processor makes.
    bool steps_on_host(const std::vector<tile>& tiles, const task& t) const;
    void step_on_host(const std::vector<tile>& tiles, const task& t, activity& a) const;
    /// Nanoseconds to pass over bytes of a device's own memory.
    index_t memory_time(int device, index_t bytes) const;

    static task_activity access(const std::vector<tile>& tiles, const task& t, int number);

    /// Returns the nanoseconds of passes over the device's own memory: pieces that are here already (or come from the
    /// caller) are read and written, and what is added to reads the sum once more.
    index_t copy_transfers(const std::vector<tile>& tiles, const task& t);
    bool is_for_parts() const { return times_.planned_parts > 1; }
    /// Parts among which what the plan has is still to be divided.
    int divided() const { return is_for_parts() ? 1 : times_.parts; }
    static index_t cost_bytes(const tile& t) { return t.elements * bytes_of(t.type); }

    /// Calls `f` with every tile of other devices that a task brings for one of its parameters; norms of all gradients
    /// come with the first.
    template <class Function>
    void for_each_sender(const std::vector<tile>& tiles, const task& t, int parts, Function&& f) {
        // A GPU adds up what its own tasks contribute before it crosses (as before a collective); threads read every
        // contribution.
        const bool added = t.kind() == task_kind::update && !on_.class_of(t.device).serial_copies;
        bool first = true;
        for_each_part(t, [&](const task& one) {
            senders_.clear();
            for (int r : one.reads) {
                const tile& x = tiles[to_size(r)];
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
    index_t remote_tiles(const std::vector<tile>& tiles, const task& t);
    /// What the other parts' updates send to and take from this one meanwhile: the mirror images of what this one does
    /// there.
    void add_mirrored(const std::vector<tile>& tiles, const task& t, activity& a);

    // ---- groups of updates, and messages: collective_activities.inl -------------------------------------------------

    static void add_member(std::vector<int>& members, int device);

    /// What a task writes once for each of its parameters.
    static index_t slice_bytes(const std::vector<tile>& tiles, const task& t);

    /// The summed gradients' slices, the parameters', and the optimizer's state: the rest has come and goes by
    /// collectives. One launch for each.
    index_t time_of_own_slice(const std::vector<tile>& tiles, const task& t) const;
    /// Of the slices that all members of a message have, `own` of them in this plan.
    index_t bytes_of_members(const std::vector<tile>& tiles, const task& t, int own) const;
    /// Of all codes that a decompression reads.
    static index_t code_bytes(const std::vector<tile>& tiles, const task& t);
    /// What of that, and of the roofline's time, starting a call for each parameter takes.
    index_t starting_time(const task& t) const;

    bool is_exchange(const task& t) const;
    /// True for the tasks of add_group(), and how many follow the first of them, itself among them.
    bool is_in_group(const task& t) const;
    int group_size(const task& t) const {
        return is_for_parts() ? t.params().slices / times_.parts * times_.planned_parts : t.params().slices;
    }
    void add_group(const std::vector<tile>& tiles, const std::vector<task>& tasks, int first,
                   std::vector<task_activity>& all);
    /// Adds an update of its own slice; what it reads comes with the activity `scatter`, or, without one (-1), from
    /// where it is.
    void add_slice(const std::vector<tile>& tiles, const task& t, int number, int scatter,
                   std::vector<task_activity>& all);

    /// The tasks of a message, and what they read and write together.
    struct message {
        int first = 0;
        int count = 1;
        index_t bytes = 0;
        bool sums = false;        ///< contributions come from several devices
        bool shares = false;      ///< it writes on several
        std::vector<int> members; ///< devices
        std::vector<int> reads;
        std::vector<int> writes;
        std::vector<int> overwrites; ///< persistent tiles
    };
    message message_at(const std::vector<tile>& tiles, const std::vector<task>& tasks, int first) const;
    int add_message(const std::vector<tile>& tiles, const std::vector<task>& tasks, int first,
                    std::vector<task_activity>& all);
    int add_collective(task_activity c, const message& m, std::vector<task_activity>& all);
    task_activity own_work(const std::vector<tile>& tiles, const task& t, int number, int scatter, bool shares);

    /// Tiles of one device, or on their way from or to it.
    using device_tiles = std::pair<int, std::vector<int>>;
    static void add_to_device(std::vector<device_tiles>& all, int device, int which, bool apart);
    static std::vector<device_tiles> pushed_to(const std::vector<tile>& tiles, const task& t);
    static std::vector<device_tiles> pulled_from(const std::vector<tile>& tiles, const task& t);
    int add_served(const std::vector<tile>& tiles, const std::vector<task>& tasks, int number,
                   std::vector<task_activity>& all);
    index_t add_hops(task_activity& c, int from, int to, index_t bytes, int& last, std::vector<task_activity>& all,
                     std::vector<int>& arrived);
    void follow(int& last, task_activity& c, std::size_t number);

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
    std::vector<int> host_link_; ///< by device: the first of those that share its link to the host
    std::vector<int> host_;      ///< by device: the first of those of its node
    std::vector<description> descriptions_;
    std::vector<int> senders_;
};

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/collective_activities.inl"
#include "tessera/simulate/task_activities.inl"
#endif

#include "tessera/base/end_header.inl"
