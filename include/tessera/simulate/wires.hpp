// SPDX-License-Identifier: Apache-2.0
// What an activity's transfers occupy: bytes over the lanes of a cluster's routes, and the time that they take.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"
#include "tessera/simulate/schedule.hpp"

#include <utility>

namespace tessera::simulation {

/// Gathers the transfers of one activity after the other. Of a machine in equal parts the first one's transfers are
/// given.
class wires {
public:
    /// Throws tessera::error where the machine does not have so many equal parts.
    wires(const cluster& on, int parts, int planned = 1);

    /// Pairs of devices between which something was sent so far, of a plan for several parts.
    std::vector<std::pair<int, int>> pairs() const;
    /// Devices of each of the machine's parts.
    int in_part() const { return in_part_; }

    void begin();
    void send(int from, int to, index_t bytes);
    /// The same where other parts send theirs at the same time, some over the same lanes.
    void send_in_every_part(int from, int to, index_t bytes);
    /// From a device and those that stand for it in the first `parts` parts.
    void send_from_parts(int from, int to, index_t bytes, int parts);

    /// The activity that the transfers make, with `local` nanoseconds of the device's own work, `beside` its
    /// computation or where it belongs. What is beside the computation of a device with streams takes the time of its
    /// own work from it, but for `starting`, ns of that in which it only starts.
    void finish(int device, index_t local, activity& a, bool overlaps, index_t starting = 0);
    /// Puts an activity among the tasks of a device. Of a device with streams both share one engine, in which what is
    /// ready first goes first.
    void compute(int device, activity& a) const;
    /// The lane of what a device does beside its list; of one with streams its engine, on which its list's tasks run
    /// too.
    int engine_of(int device) const { return on_.lanes() + device; }
    /// Adds what the transfers occupy to what an activity does already, which lasts no longer.
    void finish_meanwhile(activity& a);

private:
    static int devices_of_part(const cluster& on, int parts);

    void use(int lane, index_t what);
    /// Nanoseconds that a lane is busy; it is free again.
    index_t take(int lane);

    const cluster& on_;
    std::vector<index_t> busy_;
    std::vector<int> used_;
    index_t latency_ = 0;
    int parts_ = 1;
    int in_part_ = 0;
    int planned_ = 0;        ///< devices of the parts that are planned, where they are several
    std::vector<char> sent_; ///< by two of these
    std::vector<std::vector<std::pair<int, int>>>
        shared_; ///< by two devices of a part: their lanes, and how many parts use each alike
};

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/wires.inl"
#endif

#include "tessera/base/end_header.inl"
