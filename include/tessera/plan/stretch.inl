// SPDX-License-Identifier: Apache-2.0
// Bodies of stretch.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/stretch.hpp"

#include <utility>

namespace tessera {

TESSERA_INLINE plan stretch_of(const plan& p, int first, int last) {
    if (first < 0 || last < first || to_size(last) > p.tasks.size()) {
        throw error("tessera: a plan of " + std::to_string(p.tasks.size()) + " tasks has no stretch from " +
                    std::to_string(first) + " to " + std::to_string(last) + "; they count from 0");
    }
    if (p.steps_per_plan != 1 || p.lists() > 2 * p.devices) {
        throw error("tessera: a plan of several steps, or with queues, runs whole and not in parts");
    }
    plan q = p;
    q.results.clear();
    q.gradients.clear();
    q.tasks.assign(p.tasks.begin() + first, p.tasks.begin() + last);
    std::vector<int> before(p.order.size(), 0); // tasks of each list that are not there
    for (std::size_t l = 0; l < p.order.size(); ++l) {
        q.order[l].clear();
        for (const int t : p.order[l]) {
            before[l] += t < first ? 1 : 0;
            if (t >= first && t < last) {
                q.order[l].push_back(t - first);
            }
        }
    }
    for (task& t : q.tasks) {
        t.position -= before[to_size(p.list_of(t))];
        std::vector<wait_for> waits;
        for (const wait_for& w : t.waits) {
            if (w.count > before[to_size(w.list)]) {
                waits.push_back({w.list, w.count - before[to_size(w.list)]});
            }
        }
        t.waits = std::move(waits);
    }
    return q;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
