// SPDX-License-Identifier: Apache-2.0
// When the tasks of a run started and ended, made into a timeline.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/processes.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/simulate/timeline.hpp"

#include <vector>

namespace tessera {

/// A span for every task of every list, which the list's thread writes. Queues write theirs into the timeline.
class measured_spans {
public:
    /// Before a run: room for all tasks of the lists that this process has prepared.
    void begin(const plan& p, const std::vector<std::size_t>& sizes, process_group* group,
               simulation::timeline& measured);
    simulation::task_span& at(int list, int position) { return spans_[to_size(list)][to_size(position)]; }
    /// After it.
    void finish(const plan& p, process_group* group, simulation::timeline& measured) const;

private:
    std::vector<std::vector<simulation::task_span>> spans_;
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/local/measured_spans.inl"
#endif

#include "tessera/base/end_header.inl"
