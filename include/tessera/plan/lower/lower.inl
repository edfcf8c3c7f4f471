// SPDX-License-Identifier: Apache-2.0
// Bodies of lower.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/lower.hpp"

#include <utility>

namespace tessera::lowering {

TESSERA_INLINE plan_writer empty_plan(const lowering_input& in) {
    plan_writer out;
    out.p.devices = in.devices;
    out.parts = in.o.parts;
    out.p.kind = in.o.kind;
    out.p.loss_scale = static_cast<double>(in.o.update.loss_scale);
    out.p.states = in.for_training() ? in.o.update.state_count() : 0;
    out.p.clips = in.clips();
    out.p.average_every = in.averages() ? in.s.sync->average_every : 0;
    out.p.compress = in.compresses() ? in.s.sync->setting() : compression_setting{};
    out.p.staleness = in.staleness();
    out.p.output_gradient = in.o.output_gradient;
    out.p.micro_batches = in.s.micro_batches;
    out.p.joint_statistics = in.joint_statistics;
    out.p.replica_statistics = in.s.statistics == statistics_over::replica && in.for_training();
    out.p.steps_per_plan = in.steps_per_plan();
    return out;
}

TESSERA_INLINE void reserve(const lowering_input& in, plan_writer& out) {
    std::size_t shards = 0;
    for (int op = 0; op < in.g.op_count; ++op) {
        shards += to_size(in.config(op).shards());
    }
    const std::size_t tasks =
        (in.for_training() ? 3 : 1) * shards * to_size(in.s.micro_batches) * to_size(in.steps_per_plan());
    out.p.tasks.reserve(tasks);
    out.p.tiles.reserve(2 * tasks);
}

TESSERA_INLINE void lower_step(network_lowering& x) {
    const std::size_t losses = actions_until_losses(x.in, x.order);
    for (std::size_t i = 0; i < x.order.actions.size(); ++i) {
        x.sync.holds = i < losses;
        perform(x, x.order.actions[i]);
        if (i + 1 == losses) {
            finish_deferred(x.in, x.net, x.sync, x.out);
        }
    }
    finish_updates(x.in, x.net, x.sync, x.out);
    collect_results(x.in, x.net, x.all, x.out);
}

} // namespace tessera::lowering

namespace tessera {

TESSERA_INLINE plan lower(const graph_view& g, const strategy_view& s, int devices, const lower_options& options) {
    const lowering::lowering_input in(g, s, devices, options);
    check_options(in);
    check_rules(in);
    lowering::network_lowering x{in, arrange(in), empty_plan(in), results_after_forward(in)};
    reserve(in, x.out);
    x.net = place_network(in, x.out, x.all, x.order.sweeps);
    if (in.o.output_gradient >= 0) {
        const int result = g.ops[g.op_count - 1].output;
        x.all[0].gradients[to_size(result)] = x.net.inputs[to_size(in.o.output_gradient)];
    }
    const int steps = in.steps_per_plan();
    for (; steps > x.out.step; ++x.out.step) { // nvcc takes `step <` for a template's name
        if (x.out.step > 0) {
            forget_step(in, x.net, x.order.sweeps);
            forget_step(x.sync);
            for (lowering::micro_batch_places& m : x.all) {
                forget_step(in, x.net, m);
            }
        }
        lower_step(x);
    }
    if (s.overlap) {
        use_communication_streams(x.out.p);
    }
    use_queues(x.out.p);
    number_tasks(x.out.p);
    if (options.unlike != nullptr) {
        *options.unlike = x.out.unlike;
    }
    return std::move(x.out.p);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
