// SPDX-License-Identifier: Apache-2.0
// Bodies of staleness.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/staleness.hpp"

namespace tessera {

TESSERA_INLINE std::vector<int> staleness_of(const plan& p) {
    std::vector<int> updated(p.tiles.size(), 0); // by the steps before this one
    std::vector<char> late(p.tiles.size(), 0);   // its updates are an optimizer's
    for (const task& t : p.tasks) {
        if (t.kind() == task_kind::update) {
            for (const int w : t.writes) {
                late[to_size(w)] = 1;
            }
        }
    }
    std::vector<int> by_step(to_size(p.steps_per_plan), 0);
    for (const task& t : p.tasks) {
        if (t.kind() == task_kind::update) {
            for (const int w : t.writes) {
                updated[to_size(w)] = t.step + 1;
            }
            continue;
        }
        int& most = by_step[to_size(t.step)];
        for (const int r : t.reads) {
            const int missing = t.step - updated[to_size(r)];
            most = late[to_size(r)] != 0 && missing > most ? missing : most;
        }
    }
    return by_step;
}

TESSERA_INLINE void staleness_record::add(const std::vector<int>& by_step, std::size_t taken) {
    last_run.assign(by_step.begin(), by_step.begin() + static_cast<std::ptrdiff_t>(taken));
    for (const int s : last_run) {
        most = s > most ? s : most;
        total += static_cast<std::uint64_t>(s);
        ++steps;
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
