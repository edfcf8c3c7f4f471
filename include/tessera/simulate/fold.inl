// SPDX-License-Identifier: Apache-2.0
// Bodies of fold.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/fold.hpp"

namespace tessera::simulation::detail {

TESSERA_INLINE int key_numbers::operator()(const std::vector<index_t>& key) {
    return numbers_.emplace(key, static_cast<int>(numbers_.size())).first->second;
}

TESSERA_INLINE folder::folder(const std::vector<activity>& items, int devices, int lanes)
    : items_(items), devices_(to_size(devices)), users_(to_size(lanes)), before_(items.size(), -1) {
    fold_.activity_class.assign(items.size(), 0);
    fold_.lane_class.assign(to_size(lanes), 0);
    for (std::size_t a = 0; a < items.size(); ++a) {
        if (items[a].device >= 0) {
            std::vector<int>& mine = devices_[to_size(items[a].device)];
            before_[a] = mine.empty() ? -1 : mine.back();
            mine.push_back(static_cast<int>(a));
        }
        place_.emplace_back();
        for (const lane_use& u : items[a].lanes) {
            std::vector<lane_use>& users = users_[to_size(u.lane)];
            place_.back().push_back(static_cast<index_t>(users.size()));
            users.push_back({static_cast<int>(a), u.busy});
        }
    }
}

TESSERA_INLINE folding folder::run() {
    for (int known = -1; known != fold_.activities + fold_.lanes;) {
        known = fold_.activities + fold_.lanes;
        refine_activities();
        refine_lanes();
    }
    key_numbers number;
    for (const std::vector<int>& mine : devices_) {
        key_.clear();
        for (int a : mine) {
            key_.push_back(fold_.activity_class[to_size(a)]);
        }
        fold_.device_class.push_back(number(key_));
    }
    fold_.devices = number.count();
    return fold_;
}

TESSERA_INLINE void folder::refine_activities() {
    key_numbers number;
    std::vector<int> next(items_.size());
    for (std::size_t a = 0; a < items_.size(); ++a) { // whatever it comes after stands before it
        const activity& x = items_[a];
        key_ = {fold_.activity_class[a], x.duration, before_[a] < 0 ? -1 : next[to_size(before_[a])],
                static_cast<index_t>(x.lanes.size()),
                x.priority < 0 ? -1 : static_cast<index_t>(a)}; // a queue has an order
        for (std::size_t k = 0; k < x.lanes.size(); ++k) {
            uses_.push_back({fold_.lane_class[to_size(x.lanes[k].lane)], place_[a][k],
                             2 * x.lanes[k].busy + (x.lanes[k].meanwhile ? 1 : 0)});
        }
        std::sort(uses_.begin(), uses_.end());
        for (const auto& u : uses_) {
            key_.insert(key_.end(), u.begin(), u.end());
        }
        uses_.clear();
        const auto head = static_cast<std::ptrdiff_t>(key_.size());
        for (int b : x.after) {
            key_.push_back(next[to_size(b)]);
        }
        std::sort(key_.begin() + head, key_.end());
        key_.erase(std::unique(key_.begin() + head, key_.end()), key_.end());
        next[a] = number(key_);
    }
    fold_.activity_class.swap(next);
    fold_.activities = number.count();
}

TESSERA_INLINE void folder::refine_lanes() {
    key_numbers number;
    for (std::size_t l = 0; l < users_.size(); ++l) {
        key_ = {fold_.lane_class[l]};
        for (const lane_use& u : users_[l]) {
            key_.push_back(fold_.activity_class[to_size(u.lane)]);
            key_.push_back(u.busy);
        }
        fold_.lane_class[l] = number(key_);
    }
    fold_.lanes = number.count();
}

} // namespace tessera::simulation::detail

namespace tessera::simulation {

TESSERA_INLINE folding fold(const std::vector<activity>& items, int devices, int lanes) {
    return detail::folder(items, devices, lanes).run();
}

TESSERA_INLINE std::vector<activity> folded_activities(const std::vector<activity>& items, const folding& f) {
    std::vector<activity> folded(to_size(f.activities));
    std::vector<char> done(folded.size(), 0);
    std::vector<int> last; // activity on every device
    for (std::size_t a = 0; a < items.size(); ++a) {
        const activity& x = items[a];
        int before = -1;
        if (x.device >= 0) {
            const auto d = to_size(x.device);
            last.resize(last.size() > d ? last.size() : d + 1, -1);
            before = last[d];
            last[d] = f.activity_class[a];
        }
        const auto mine = to_size(f.activity_class[a]);
        if (done[mine] != 0) {
            continue;
        }
        done[mine] = 1;
        activity& y = folded[mine];
        y.duration = x.duration;
        for (const lane_use& u : x.lanes) {
            y.lanes.push_back({f.lane_class[to_size(u.lane)], u.busy, u.meanwhile});
        }
        const auto by_lane = [](const lane_use& p, const lane_use& q) { return p.lane < q.lane; };
        const auto same = [](const lane_use& p, const lane_use& q) { return p.lane == q.lane; };
        std::sort(y.lanes.begin(), y.lanes.end(), by_lane);
        y.lanes.erase(std::unique(y.lanes.begin(), y.lanes.end(), same), y.lanes.end());
        for (int b : x.after) {
            y.after.push_back(f.activity_class[to_size(b)]);
        }
        if (before >= 0) {
            y.after.push_back(before);
        }
        std::sort(y.after.begin(), y.after.end());
        y.after.erase(std::unique(y.after.begin(), y.after.end()), y.after.end());
    }
    return folded;
}

TESSERA_INLINE std::vector<task_span> folded_timeline::spans(std::size_t task_count) const {
    std::vector<task_span> all(task_count);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        const auto c = to_size(classes.activity_class[i]);
        detail::add_span(all, tasks[i].first, tasks[i].count, times.start[c], times.end[c]);
    }
    return all;
}

TESSERA_INLINE folded_timeline simulate_folded(const plan& p, task_activities& activities) {
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
