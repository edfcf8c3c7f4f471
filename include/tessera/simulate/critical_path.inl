// SPDX-License-Identifier: Apache-2.0
// Bodies of critical_path.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/critical_path.hpp"

namespace tessera::simulation {

TESSERA_INLINE critical_time critical_path(const plan& p, task_activities& activities) {
    const activity_graph g = activities_of(p, activities);
    std::vector<int> order(g.items.size());
    std::vector<int> previous(g.items.size(), -1);
    std::vector<int> last(to_size(activities.machine().devices()), -1);
    for (std::size_t i = 0; i < order.size(); ++i) {
        order[i] = static_cast<int>(i);
        if (g.items[i].device >= 0) {
            int& before = last[to_size(g.items[i].device)];
            previous[i] = before;
            before = static_cast<int>(i);
        }
    }
    schedule s;
    scheduler(activities.machine().devices(), activities.lanes()).run(g.items, order, s);
    critical_time t;
    int here = s.end.empty() ? -1 : static_cast<int>(std::max_element(s.end.begin(), s.end.end()) - s.end.begin());
    while (here >= 0) {
        const auto at = to_size(here);
        t.waiting += s.start[at] - s.ready[at];
        const task& x = p.tasks[to_size(g.tasks[at].first)];
        const bool of_parameters = x.kind() == task_kind::update || x.kind() == task_kind::reduce ||
                                   x.kind() == task_kind::norm || x.kind() == task_kind::compress ||
                                   x.kind() == task_kind::decompress ||
                                   (x.kind() == task_kind::copy && x.what == pass::update);
        (of_parameters                 ? t.synchronization
         : x.kind() == task_kind::copy ? t.transfer
                                       : t.compute) += s.end[at] - s.start[at];
        here = previous[at] >= 0 && s.end[to_size(previous[at])] == s.ready[at] ? previous[at] : -1;
        for (int before : g.items[at].after) {
            here = s.end[to_size(before)] == s.ready[at] ? before : here;
        }
    }
    return t;
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
