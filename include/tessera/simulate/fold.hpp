// SPDX-License-Identifier: Apache-2.0
// Folding: devices, lanes and activities that a simulation cannot tell apart become one of each, so that what happens
// to one stands for what happens to all. The times of the folded simulation are those of the unfolded one, exactly.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/simulate.hpp"

#include <array>
#include <map>

namespace tessera::simulation {

/// Which activities, lanes and devices are alike. Classes are numbered in the order of their first members.
///
/// Two activities of a class last equally long, come after activities of the same classes (on their device too), and
/// use lanes of the same classes at the same place in the lanes' order of use for as long; two lanes of a class are
/// used by the same classes in the same order. Then all members of a class start and end at the same times: by
/// induction over the order (ready, place) in which a simulation takes activities, they become ready together, and the
/// lanes that they ask for are free at the same time. (Paige and Tarjan 1987 is the partition refinement.)
struct folding {
    std::vector<int> activity_class; ///< of every activity
    std::vector<int> lane_class;     ///< of every lane
    std::vector<int> device_class;   ///< of every device: the same classes of activities in the same order
    int activities = 0;              ///< how many classes there are
    int lanes = 0;
    int devices = 0;
};

namespace detail {

/// Numbers for keys, given in the order in which keys are first seen.
class key_numbers {
public:
    int operator()(const std::vector<index_t>& key);
    int count() const { return static_cast<int>(numbers_.size()); }

private:
    std::map<std::vector<index_t>, int> numbers_;
};

/// Refines until nothing changes: activities in an order that respects what comes after what, then lanes.
class folder {
public:
    folder(const std::vector<activity>& items, int devices, int lanes);

    folding run();

private:
    void refine_activities();

    void refine_lanes();

    const std::vector<activity>& items_;
    folding fold_;
    std::vector<std::vector<int>> devices_;    ///< activities of every device in order
    std::vector<std::vector<lane_use>> users_; ///< of every lane in order: here `lane` is the activity
    std::vector<std::vector<index_t>>
        place_;               ///< of every activity, for each of its lanes, its place among the lane's users
    std::vector<int> before_; ///< activity before it on its device, or -1
    std::vector<index_t> key_;
    std::vector<std::array<index_t, 3>> uses_;
};

} // namespace detail

/// Folds activities that are listed in topological order (that of activities_of()).
folding fold(const std::vector<activity>& items, int devices, int lanes);

/// One activity for every class, to be simulated without devices on one lane for every class of lanes: that activities
/// of a device come one after the other is said by `after`.
std::vector<activity> folded_activities(const std::vector<activity>& items, const folding& f);

/// A run as predicted, for one device of every class.
struct folded_timeline {
    folding classes;
    schedule times;                             ///< of every class of activities
    std::vector<activity_graph::covered> tasks; ///< of every activity of the plan
    index_t makespan = 0;

    /// When every task of the plan starts and ends, as simulate() says it.
    std::vector<task_span> spans(std::size_t task_count) const;
};

/// Simulates one run of a plan with everything folded that can be.
folded_timeline simulate_folded(const plan& p, task_activities& activities);

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/fold.inl"
#endif

#include "tessera/base/end_header.inl"
