// SPDX-License-Identifier: Apache-2.0
// Folding: devices, lanes and activities that a simulation cannot tell apart become one of each, so that what happens to one stands for
// what happens to all. The times of the folded simulation are those of the unfolded one, exactly.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/simulate.hpp"

#include <array>
#include <map>

namespace tessera::simulation {

/// Which activities, lanes and devices are alike. Classes are numbered in the order of their first members.
///
/// Two activities of a class last equally long, come after activities of the same classes (on their device too), and use lanes of the same classes
/// at the same place in the lanes' order of use for as long; two lanes of a class are used by the same classes in the same order. Then all
/// members of a class start and end at the same times: by induction over the order (ready, place) in which a simulation takes activities,
/// they become ready together, and the lanes that they ask for are free at the same time. (Paige and Tarjan 1987 is the partition refinement.)
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
    int operator()(const std::vector<index_t>& key) {
        return numbers_.emplace(key, static_cast<int>(numbers_.size())).first->second;
    }
    int count() const { return static_cast<int>(numbers_.size()); }

private:
    std::map<std::vector<index_t>, int> numbers_;
};

/// Refines until nothing changes: activities in an order that respects what comes after what, then lanes.
class folder {
public:
    folder(const std::vector<activity>& items, int devices, int lanes)
        : items_(items), devices_(at(devices)), users_(at(lanes)), before_(items.size(), -1) {
        fold_.activity_class.assign(items.size(), 0);
        fold_.lane_class.assign(at(lanes), 0);
        for (std::size_t a = 0; a < items.size(); ++a) {
            if (items[a].device >= 0) {
                std::vector<int>& mine = devices_[at(items[a].device)];
                before_[a] = mine.empty() ? -1 : mine.back();
                mine.push_back(static_cast<int>(a));
            }
            place_.emplace_back();
            for (const lane_use& u : items[a].lanes) {
                std::vector<lane_use>& users = users_[at(u.lane)];
                place_.back().push_back(static_cast<index_t>(users.size()));
                users.push_back({static_cast<int>(a), u.busy});
            }
        }
    }

    folding run() {
        for (int known = -1; known != fold_.activities + fold_.lanes;) {
            known = fold_.activities + fold_.lanes;
            refine_activities();
            refine_lanes();
        }
        key_numbers number;
        for (const std::vector<int>& mine : devices_) {
            key_.clear();
            for (int a : mine) {
                key_.push_back(fold_.activity_class[at(a)]);
            }
            fold_.device_class.push_back(number(key_));
        }
        fold_.devices = number.count();
        return fold_;
    }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    void refine_activities() {
        key_numbers number;
        std::vector<int> next(items_.size());
        for (std::size_t a = 0; a < items_.size(); ++a) { // whatever it comes after stands before it
            const activity& x = items_[a];
            key_ = {fold_.activity_class[a], x.duration, before_[a] < 0 ? -1 : next[at(before_[a])],
                    static_cast<index_t>(x.lanes.size()),
                    x.priority < 0 ? -1 : static_cast<index_t>(a)}; // a queue has an order
            for (std::size_t k = 0; k < x.lanes.size(); ++k) {
                uses_.push_back({fold_.lane_class[at(x.lanes[k].lane)], place_[a][k], x.lanes[k].busy});
            }
            std::sort(uses_.begin(), uses_.end());
            for (const auto& u : uses_) {
                key_.insert(key_.end(), u.begin(), u.end());
            }
            uses_.clear();
            const auto head = static_cast<std::ptrdiff_t>(key_.size());
            for (int b : x.after) {
                key_.push_back(next[at(b)]);
            }
            std::sort(key_.begin() + head, key_.end());
            key_.erase(std::unique(key_.begin() + head, key_.end()), key_.end());
            next[a] = number(key_);
        }
        fold_.activity_class.swap(next);
        fold_.activities = number.count();
    }

    void refine_lanes() {
        key_numbers number;
        for (std::size_t l = 0; l < users_.size(); ++l) {
            key_ = {fold_.lane_class[l]};
            for (const lane_use& u : users_[l]) {
                key_.push_back(fold_.activity_class[at(u.lane)]);
                key_.push_back(u.busy);
            }
            fold_.lane_class[l] = number(key_);
        }
        fold_.lanes = number.count();
    }

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

/// Folds activities that are listed in an order in which what comes before stands before (that of activities_of()).
inline folding fold(const std::vector<activity>& items, int devices, int lanes) {
    return detail::folder(items, devices, lanes).run();
}

/// One activity for every class, to be simulated without devices on one lane for every class of lanes: that activities of a device come
/// one after the other is said by `after`.
inline std::vector<activity> folded_activities(const std::vector<activity>& items, const folding& f) {
    std::vector<activity> folded(static_cast<std::size_t>(f.activities));
    std::vector<char> done(folded.size(), 0);
    std::vector<int> last; // activity on every device
    for (std::size_t a = 0; a < items.size(); ++a) {
        const activity& x = items[a];
        int before = -1;
        if (x.device >= 0) {
            const auto d = static_cast<std::size_t>(x.device);
            last.resize(last.size() > d ? last.size() : d + 1, -1);
            before = last[d];
            last[d] = f.activity_class[a];
        }
        const auto mine = static_cast<std::size_t>(f.activity_class[a]);
        if (done[mine] != 0) {
            continue;
        }
        done[mine] = 1;
        activity& y = folded[mine];
        y.duration = x.duration;
        for (const lane_use& u : x.lanes) {
            y.lanes.push_back({f.lane_class[static_cast<std::size_t>(u.lane)], u.busy});
        }
        const auto by_lane = [](const lane_use& p, const lane_use& q) { return p.lane < q.lane; };
        const auto same = [](const lane_use& p, const lane_use& q) { return p.lane == q.lane; };
        std::sort(y.lanes.begin(), y.lanes.end(), by_lane);
        y.lanes.erase(std::unique(y.lanes.begin(), y.lanes.end(), same), y.lanes.end());
        for (int b : x.after) {
            y.after.push_back(f.activity_class[static_cast<std::size_t>(b)]);
        }
        if (before >= 0) {
            y.after.push_back(before);
        }
        std::sort(y.after.begin(), y.after.end());
        y.after.erase(std::unique(y.after.begin(), y.after.end()), y.after.end());
    }
    return folded;
}

/// A run as predicted, for one device of every class.
struct folded_timeline {
    folding classes;
    schedule times;                             ///< of every class of activities
    std::vector<activity_graph::covered> tasks; ///< of every activity of the plan
    index_t makespan = 0;

    /// When every task of the plan starts and ends, as simulate() says it.
    std::vector<task_span> spans(std::size_t task_count) const {
        std::vector<task_span> all(task_count);
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            const auto c = static_cast<std::size_t>(classes.activity_class[i]);
            detail::add_span(all, tasks[i].first, tasks[i].count, times.start[c], times.end[c]);
        }
        return all;
    }
};

/// Simulates one run of a plan with everything folded that can be.
inline folded_timeline simulate_folded(const plan& p, task_activities& activities) {
    const activity_graph g = activities_of(p, activities);
    folded_timeline t;
    t.classes = fold(g.items, activities.machine().devices(), activities.lanes());
    t.tasks = g.tasks;
    const std::vector<activity> folded = folded_activities(g.items, t.classes);
    std::vector<int> order(folded.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = static_cast<int>(i);
    }
    scheduler(0, t.classes.lanes).run(folded, order, t.times);
    t.makespan = t.times.makespan;
    return t;
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
