// SPDX-License-Identifier: Apache-2.0
// What an activity's transfers occupy: bytes over the lanes of a cluster's routes, and the time that they take.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"
#include "tessera/simulate/schedule.hpp"

#include <utility>

namespace tessera::simulation {

/// Gathers the transfers of one activity after the other. Of a machine in equal parts the first one's transfers are given.
class wires {
public:
    /// Throws tessera::error where the machine does not have so many equal parts.
    wires(const cluster& on, int parts)
        : on_(on), busy_(at(on.lanes()), 0), parts_(parts), in_part_(devices_of_part(on, parts)),
          shared_(parts > 1 ? at(in_part_ * in_part_) : 0) {}

    /// Devices of each of the machine's parts.
    int in_part() const { return in_part_; }

    void begin() {
        latency_ = 0;
        used_.clear();
    }
    void send(int from, int to, index_t bytes) {
        const route r = on_.between(from, to);
        latency_ = std::max(latency_, r.latency);
        for (int lane : r.lanes) {
            use(lane, bytes * 1000 + 1); // + 1: also a lane that nothing measurable passes is used
        }
    }
    /// The same where other parts send theirs at the same time, some over the same lanes.
    void send_in_every_part(int from, int to, index_t bytes) {
        std::vector<std::pair<int, int>>& lanes = shared_[at(from * in_part_ + to)];
        const route mine = on_.between(from, to);
        if (lanes.empty()) {
            for (int lane : mine.lanes) {
                lanes.push_back({lane, 1});
                for (int k = 1; k < parts_; ++k) {
                    for (int other : on_.between(from + k * in_part_, to + k * in_part_).lanes) {
                        lanes.back().second += other == lane ? 1 : 0;
                    }
                }
            }
        }
        latency_ = std::max(latency_, mine.latency);
        for (const auto& [lane, parts] : lanes) {
            use(lane, parts * bytes * 1000 + 1);
        }
    }
    /// From a device and those that stand for it in the first `parts` parts.
    void send_from_parts(int from, int to, index_t bytes, int parts) {
        for (int k = 0; k < parts; ++k) {
            if (from + k * in_part_ != to) {
                send(from + k * in_part_, to, bytes);
            }
        }
    }

    /// The activity that the transfers make, with `local` nanoseconds of the device's own work, `beside` its computation or where it belongs. What is
    /// beside the computation of a device with streams takes the time of its own work from it, but for `starting`, ns of that in which it only starts.
    void finish(int device, index_t local, activity& a, bool beside, index_t starting = 0) {
        index_t wire = 0;
        for (int lane : used_) {
            const index_t busy = take(lane);
            wire = std::max(wire, busy);
            a.lanes.push_back({lane, busy});
        }
        a.duration = std::max<index_t>(1, latency_ + wire + local);
        if (!beside) {
            return compute(device, a);
        }
        const bool in_turn = on_.class_of(device).copies_in_turn;
        if (in_turn || local > 0) {
            a.lanes.push_back({engine_of(device), in_turn ? a.duration : std::max<index_t>(1, local - starting)});
        }
    }
    /// Puts an activity among the tasks of a device. Of a device with streams both share one engine, in which what is ready first goes first.
    void compute(int device, activity& a) const {
        a.device = device;
        if (!on_.class_of(device).copies_in_turn) {
            a.lanes.push_back({engine_of(device), a.duration});
        }
    }
    /// The lane of what a device does beside its list; of one with streams its engine, on which its list's tasks run too.
    int engine_of(int device) const { return on_.lanes() + device; }
    /// Adds what the transfers occupy to what an activity does already, which lasts no longer.
    void finish_meanwhile(activity& a) {
        for (int lane : used_) {
            const index_t busy = take(lane);
            const auto known =
                std::find_if(a.lanes.begin(), a.lanes.end(), [&](const lane_use& u) { return u.lane == lane; });
            if (known == a.lanes.end()) {
                a.lanes.push_back({lane, busy});
            } else {
                known->busy += busy;
            }
        }
    }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    static int devices_of_part(const cluster& on, int parts) {
        if (parts < 1 || on.devices() % parts != 0) {
            throw error("tessera: a machine of " + std::to_string(on.devices()) + " devices does not have " +
                        std::to_string(parts) + " equal parts; give a number that divides its devices");
        }
        return on.devices() / parts;
    }

    void use(int lane, index_t what) {
        if (busy_[at(lane)] == 0) {
            used_.push_back(lane);
        }
        busy_[at(lane)] += what;
    }
    /// Nanoseconds that a lane is busy; it is free again.
    index_t take(int lane) {
        const index_t busy = busy_[at(lane)] / on_.lane_megabytes(lane);
        busy_[at(lane)] = 0;
        return busy;
    }

    const cluster& on_;
    std::vector<index_t> busy_;
    std::vector<int> used_;
    index_t latency_ = 0;
    int parts_ = 1;
    int in_part_ = 0;
    std::vector<std::vector<std::pair<int, int>>>
        shared_; ///< by two devices of a part: their lanes, and how many parts use each alike
};

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
