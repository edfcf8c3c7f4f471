// SPDX-License-Identifier: Apache-2.0
// Strategies that are pipelines: stages balanced by predicted time, each data parallel over devices of its own.
#pragma once

#include "tessera/cost/roofline.hpp"
#include "tessera/machine/device_graph.hpp"
#include "tessera/schedule/stages.hpp"
#include "tessera/search/baselines.hpp"

namespace tessera::search {

/// Nanoseconds that every operator takes on a device for a whole batch, forward and backward, as the roofline predicts.
inline std::vector<index_t> operator_times(const graph_view& g, const device_class& on,
                                           const cost::roofline_efficiency& reached = {}) {
    std::vector<index_t> times;
    for (int op = 0; op < g.op_count; ++op) {
        const description d = g.describe(op);
        interval ranges[max_loops];
        for (int l = 0; l < d.loops.size(); ++l) {
            ranges[l] = {0, d.loops[l].extent};
        }
        if (g.ops[op].attributes.kind == op_kind::flatten) { // it only renames
            times.push_back(0);
            continue;
        }
        const index_t bytes = forward_bytes(d, ranges);
        const op_attributes& a = g.ops[op].attributes;
        cost::work w{cost::kind_of_work(a.kind), forward_flops(d, ranges), bytes, a.math};
        const index_t forward = cost::roofline_time(w, on, reached);
        w.flops = backward_flops(d, ranges);
        w.bytes = 2 * bytes;
        times.push_back(forward + cost::roofline_time(w, on, reached));
    }
    return times;
}

/// A pipeline: `stage` for every operator (see schedule::balance_stages), stage i data parallel over `width` devices from workers' device
/// (i modulo the schedule's workers) * width on. Throws tessera::error where there is not a stage for every operator.
inline strategy pipeline(const graph_view& g, const std::vector<int>& stage, const pipeline_schedule& order,
                         int width = 1) {
    if (static_cast<int>(stage.size()) != g.op_count) {
        throw error("tessera: there are stages for " + std::to_string(stage.size()) +
                    " operators and the network has " + std::to_string(g.op_count));
    }
    strategy s(g);
    const int workers = static_cast<int>(order.workers.size());
    for (int op = 0; op < g.op_count; ++op) {
        configuration& c = s.ops[static_cast<std::size_t>(op)];
        const int own = stage[static_cast<std::size_t>(op)];
        c = baseline_configuration(g, op, width, baseline::data_parallel);
        c.uneven = true; // micro-batches may be
        c.stage = own;
        c.start = (workers > 0 ? own % workers : own) * width;
    }
    s.follow(order);
    return s;
}

} // namespace tessera::search
