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
std::vector<index_t> operator_times(const graph_view& g, const device_class& on,
                                    const cost::roofline_efficiency& reached = {});

/// How the stages of a pipeline are divided over devices, and what they recompute.
struct pipeline_options {
    int width = 1;                     ///< devices of every worker ...
    std::vector<int> widths = {};      ///< ... or of each
    std::vector<baseline> inside = {}; ///< how each stage is split over them; empty: data parallel
    /// Where it is not `none`, all operators recompute, for these micro-batches; otherwise none does, and the schedule
    /// is as it was.
    schedule::rematerialize again = schedule::rematerialize::none;
};

/// A pipeline: `stage` for every operator (see schedule::balance_stages); the workers of the schedule have the devices
/// from 0 on, one after the other. Throws tessera::error where there is not a stage for every operator, or not a width
/// above 0 for every worker.
strategy pipeline(const graph_view& g, const std::vector<int>& stage, const pipeline_schedule& order,
                  const pipeline_options& how);

/// The same with as many devices for every worker, data parallel in each stage.
strategy pipeline(const graph_view& g, const std::vector<int>& stage, const pipeline_schedule& order, int width = 1);

/// HyPar-Flow's hybrid of pipeline and data parallelism: the network in `stages` of equal time, each by `replicas`
/// devices that share every micro-batch, all micro-batches forward and then backward. Each stage has an all-reduce
/// among its replicas alone, which begins when the last micro-batch has gone backward through it, while earlier stages
/// still compute. Awan et al., "HyPar-Flow" (ISC 2020, arXiv 1911.05146).
strategy hypar_flow(const graph_view& g, const device_class& on, int stages, int replicas, int micro_batches);

inline constexpr option_row stages_option{"stages", "workers of a pipeline; 0: as many as devices", 0, 0, 16384};

namespace detail {

/// Stages of a pipeline as they are asked for. Throws tessera::error where they do not divide the devices.
int asked_stages(const cluster& on, const search_options& o);

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

#ifndef TESSERA_COMPILED
#include "tessera/search/pipeline.inl"
#endif

#include "tessera/base/end_header.inl"
