// SPDX-License-Identifier: Apache-2.0
// Bodies of measured_spans.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/measured_spans.hpp"

#include "tessera/base/clock.hpp"

namespace tessera {

namespace detail {

/// Each process has seen when its own tasks ran. Times count from where all began together, as clocks of nodes
/// differ.
TESSERA_INLINE void agree_on_spans(const plan& p, process_group& group, simulation::timeline& measured) {
    std::vector<double> all;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        const simulation::task_span& s = measured.tasks[i];
        const bool mine = s.start >= 0;
        all.push_back(mine ? static_cast<double>(s.start) : 0);
        all.push_back(mine ? static_cast<double>(s.end) : 0);
    }
    all.push_back(static_cast<double>(measured.makespan));
    group.agree_on_most(all);
    measured.makespan = static_cast<index_t>(all.back());
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        measured.tasks[i] = {static_cast<index_t>(all[2 * i]), static_cast<index_t>(all[2 * i + 1])};
    }
}

} // namespace detail

TESSERA_INLINE void measured_spans::begin(const plan& p, const std::vector<std::size_t>& sizes, process_group* group,
                                          simulation::timeline& measured) {
    spans_.resize(sizes.size());
    for (std::size_t l = 0; l < sizes.size(); ++l) {
        spans_[l].assign(sizes[l], {});
    }
    measured.tasks.assign(p.tasks.size(), {});
    if (group != nullptr) {
        group->barrier(barrier_point::agree); // so that all begin at one moment
    }
    measured.begin = nanoseconds_now();
}

TESSERA_INLINE void measured_spans::finish(const plan& p, process_group* group, simulation::timeline& measured) const {
    measured.makespan = nanoseconds_now() - measured.begin;
    measured.device_busy.assign(to_size(p.devices), 0);
    measured.lane_busy.clear();
    measured.peak_bytes.clear();
    for (std::size_t l = 0; l < spans_.size(); ++l) {
        for (std::size_t i = 0; i < spans_[l].size(); ++i) {
            const simulation::task_span& s = spans_[l][i];
            measured.tasks[to_size(p.order[l][i])] = {s.start - measured.begin, s.end - measured.begin};
        }
    }
    if (group != nullptr) {
        detail::agree_on_spans(p, *group, measured);
    }
    for (std::size_t l = 0; l < spans_.size() && l < measured.device_busy.size(); ++l) {
        for (const int t : p.order[l]) {
            const simulation::task_span& s = measured.tasks[to_size(t)];
            measured.device_busy[l] += s.end - s.start;
        }
    }
    for (std::size_t d = 0; d < p.arena_bytes.size(); ++d) {
        measured.peak_bytes.push_back(p.arena_bytes[d] + p.persistent_bytes[d]);
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
