// SPDX-License-Identifier: Apache-2.0
// Bodies of strategy.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/strategy.hpp"

#include <utility>

namespace tessera {

TESSERA_INLINE strategy_view strategy::view() const {
    return {ops.data(),     static_cast<int>(ops.size()),
            pool.data(),    static_cast<index_t>(pool.size()),
            micro_batches,  schedule.stages > 0 ? &schedule : nullptr,
            statistics,     parameters_on,
            overlap,        sync.is_usual() ? nullptr : &sync,
            steps_per_plan, sums_first,
            state_on_host};
}

TESSERA_INLINE strategy::strategy(const strategy_view& v)
    : ops(v.ops, v.ops + v.count), pool(v.pool, v.pool + v.pool_size), micro_batches(v.micro_batches),
      statistics(v.statistics), parameters_on(v.parameters_on), overlap(v.overlap) {
    steps_per_plan = v.steps_per_plan;
    sums_first = v.sums_first;
    state_on_host = v.state_on_host;
    if (v.schedule != nullptr) {
        schedule = *v.schedule;
    }
    if (v.sync != nullptr) {
        sync = *v.sync;
    }
}

TESSERA_INLINE void strategy::follow(pipeline_schedule order) {
    schedule = std::move(order);
    micro_batches = schedule.micro_batches;
}

TESSERA_INLINE void strategy::place(int op, const std::vector<int>& devices) {
    ops[to_size(op)].devices = static_cast<int>(pool.size());
    for (const int d : devices) { // vector's insert costs every includer 20 ms
        pool.push_back(d);
    }
}

TESSERA_INLINE void strategy::cut(int op, int loop_index, const std::vector<index_t>& at) {
    configuration& c = ops[to_size(op)];
    c.degree[loop_index] = static_cast<int>(at.size()) + 1;
    c.cuts[loop_index] = static_cast<int>(pool.size());
    for (const index_t i : at) {
        pool.push_back(i);
    }
}

TESSERA_INLINE void require(const graph_view& g, const problem& p) {
    if (p) {
        throw error(to_text(p, p.parameter >= 0 ? parameter_path_of(g, p.parameter)
                               : p.op >= 0      ? path_of(g, p.op)
                                                : std::string()));
    }
}

TESSERA_INLINE void require(const graph_view& g, const strategy_view& s, int devices) {
    require(g, check_strategy(g, s, devices));
}

} // namespace tessera

#include "tessera/base/end_header.inl"
