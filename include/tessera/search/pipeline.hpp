// SPDX-License-Identifier: Apache-2.0
// Strategies that are pipelines: stages balanced by predicted time, each split over devices of its own.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/roofline.hpp"
#include "tessera/machine/device_graph.hpp"
#include "tessera/schedule/gpipe.hpp"
#include "tessera/schedule/one_forward_one_backward.hpp"
#include "tessera/schedule/stages.hpp"
#include "tessera/search/by_hand/baselines.hpp"
#include "tessera/search/record.hpp"

namespace tessera::search {

/// Nanoseconds that every operator takes on a device for a whole batch, forward and backward, as the roofline predicts.
inline std::vector<index_t> operator_times(const graph_view& g, const device_class& on,
                                           const cost::roofline_efficiency& reached = {}) {
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

/// How the stages of a pipeline are divided over devices, and what they recompute.
struct pipeline_options {
    int width = 1;                     ///< devices of every worker ...
    std::vector<int> widths = {};      ///< ... or of each
    std::vector<baseline> inside = {}; ///< how each stage is split over them; empty: data parallel
    /// Where it is not `none`, all operators recompute, for these micro-batches; otherwise none does, and the schedule is as it was.
    schedule::rematerialize again = schedule::rematerialize::none;
};

/// A pipeline: `stage` for every operator (see schedule::balance_stages); the workers of the schedule have the devices from 0 on, one after the
/// other. Throws tessera::error where there is not a stage for every operator, or not a width above 0 for every worker.
inline strategy pipeline(const graph_view& g, const std::vector<int>& stage, const pipeline_schedule& order,
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
        configuration& c = s.ops[static_cast<std::size_t>(op)];
        const auto own = static_cast<std::size_t>(stage[static_cast<std::size_t>(op)]);
        if (own >= home.size() || home[own] < 0) {
            require(g, problem{rule::stage_outside_schedule, op, -1, stage[static_cast<std::size_t>(op)],
                               static_cast<index_t>(home.size())});
        }
        const auto worker = static_cast<std::size_t>(home[own]);
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

/// The same with as many devices for every worker, data parallel in each stage.
inline strategy pipeline(const graph_view& g, const std::vector<int>& stage, const pipeline_schedule& order,
                         int width = 1) {
    return pipeline(g, stage, order, pipeline_options{.width = width});
}

/// HyPar-Flow's hybrid of pipeline and data parallelism: the network in `stages` of equal time, each by `replicas` devices that share every
/// micro-batch, all micro-batches forward and then backward. Each stage has an all-reduce among its replicas alone, which begins when the last
/// micro-batch has gone backward through it, while earlier stages still compute. Awan et al., "HyPar-Flow" (ISC 2020, arXiv 1911.05146).
inline strategy hypar_flow(const graph_view& g, const device_class& on, int stages, int replicas, int micro_batches) {
    return pipeline(g, schedule::balance_stages(operator_times(g, on), stages), schedule::gpipe(stages, micro_batches),
                    replicas);
}

inline constexpr option_row stages_option{"stages", "workers of a pipeline; 0: as many as devices", 0, 0, 16384};

namespace detail {

/// Stages of a pipeline as they are asked for. Throws tessera::error where they do not divide the devices.
inline int asked_stages(const cluster& on, const search_options& o) {
    const int given = o.values.as<int>(stages_option);
    const int stages = given > 0 ? given : on.devices();
    if (on.devices() % stages != 0) {
        throw error(std::to_string(stages) + " stages do not divide " + std::to_string(on.devices()) +
                    " devices; give --stages");
    }
    return stages;
}

} // namespace detail

inline constexpr search_record pipeline_record{
    .name = "pipeline",
    .title = "pipeline",
    .about = "stages of equal time, each data parallel, under a schedule (1f1b if none is given)",
    .run =
        [](const graph_view& g, const cluster& on, const search_options& o) {
            schedule::settings x;
            x.which = o.schedule != nullptr ? o.schedule : &schedule::one_forward_one_backward_record;
            x.workers = detail::asked_stages(on, o);
            x.micro_batches = o.micro_batches > 0 ? o.micro_batches : 2 * x.workers;
            x.options = options_of(*x.which, o.values);
            x.again = o.recompute ? usual_rematerialization(*x.which) : schedule::rematerialize::none;
            require(schedule::check(x));
            const std::vector<int> stage = schedule::balance_stages(operator_times(g, on.class_of(0)), x.stages());
            return search_found{
                pipeline(g, stage, schedule::make(x), {.width = on.devices() / x.workers, .again = x.again})};
        },
    .options = {stages_option},
    .takes_all = true,
};

inline constexpr search_record hypar_flow_record{
    .name = "hypar-flow",
    .title = "HyPar-Flow",
    .about = "HyPar-Flow's hybrid: GPipe over replicated stages of equal time",
    .run =
        [](const graph_view& g, const cluster& on, const search_options& o) {
            const int stages = detail::asked_stages(on, o);
            return search_found{hypar_flow(g, on.class_of(0), stages, on.devices() / stages,
                                           o.micro_batches > 0 ? o.micro_batches : 2 * stages)};
        },
    .options = {stages_option},
};

} // namespace tessera::search

#include "tessera/base/end_header.inl"
