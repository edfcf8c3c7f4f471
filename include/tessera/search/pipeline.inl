// SPDX-License-Identifier: Apache-2.0
// Bodies of pipeline.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/pipeline.hpp"

namespace tessera::search {

TESSERA_INLINE std::vector<index_t> operator_times(const graph_view& g, const device_class& on,
                                                   const cost::roofline_efficiency& reached) {
    std::vector<index_t> times;
    for (int op = 0; op < g.op_count; ++op) {
        const description d = g.describe(op);
        if (d.facts.view) { // it only renames
            times.push_back(0);
            continue;
        }
        const index_t bytes = forward_bytes(d, loop_ranges(d).range);
        const op_attributes& a = g.ops[op].attributes;
        cost::work w{d.facts.work, forward_flops(d), bytes, a.math};
        const index_t forward = cost::roofline_time(w, on, reached);
        w.flops = backward_flops(d);
        w.bytes = 2 * bytes;
        times.push_back(forward + cost::roofline_time(w, on, reached));
    }
    return times;
}

TESSERA_INLINE strategy pipeline(const graph_view& g, const std::vector<int>& stage, const pipeline_schedule& order,
                                 const pipeline_options& how) {
    if (static_cast<int>(stage.size()) != g.op_count) {
        require(
            problem{rule::stages_for_other_operators, -1, -1, static_cast<index_t>(stage.size()), index_t{g.op_count}});
    }
    const std::vector<int> home = schedule::workers_of_stages(order);
    const std::size_t workers = order.workers.size();
    const auto fits = [](std::size_t given, std::size_t wanted) {
        require(given != 0 && given != wanted ? problem{rule::devices_for_other_workers, -1, -1,
                                                        static_cast<index_t>(given), static_cast<index_t>(wanted)}
                                              : problem{});
    };
    fits(how.widths.size(), workers);
    fits(how.inside.size(), home.size());
    std::vector<int> first(1, 0);
    for (std::size_t w = 0; w < workers; ++w) {
        const int width = how.widths.empty() ? how.width : how.widths[w];
        require(width < 1 ? problem{rule::stage_without_devices, -1, -1, width, 1} : problem{});
        first.push_back(first.back() + width);
    }
    strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        configuration& c = s.ops[to_size(op)];
        const auto own = to_size(stage[to_size(op)]);
        if (own >= home.size() || home[own] < 0) {
            require(g, problem{rule::stage_outside_schedule, op, -1, stage[to_size(op)],
                               static_cast<index_t>(home.size())});
        }
        const auto worker = to_size(home[own]);
        c = baseline_configuration(g, op, first[worker + 1] - first[worker],
                                   how.inside.empty() ? baseline::data_parallel : how.inside[own]);
        c.uneven = true; // micro-batches may be
        c.stage = static_cast<int>(own);
        c.start = first[worker];
        c.recompute = how.again != schedule::rematerialize::none;
    }
    s.follow(order);
    if (how.again != schedule::rematerialize::none) {
        schedule::keep_results(s.schedule, how.again);
    }
    return s;
}

TESSERA_INLINE strategy pipeline(const graph_view& g, const std::vector<int>& stage, const pipeline_schedule& order,
                                 int width) {
    return pipeline(g, stage, order, pipeline_options{.width = width});
}

TESSERA_INLINE strategy hypar_flow(const graph_view& g, const device_class& on, int stages, int replicas,
                                   int micro_batches) {
    return pipeline(g, schedule::balance_stages(operator_times(g, on), stages), schedule::gpipe(stages, micro_batches),
                    replicas);
}

} // namespace tessera::search

namespace tessera::search::detail {

TESSERA_INLINE int asked_stages(const cluster& on, const search_options& o) {
    const int given = o.values.as<int>(stages_option);
    const int stages = given > 0 ? given : on.devices();
    if (on.devices() % stages != 0) {
        throw error(std::to_string(stages) + " stages do not divide " + std::to_string(on.devices()) +
                    " devices; give --stages");
    }
    return stages;
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
