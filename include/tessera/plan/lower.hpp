// SPDX-License-Identifier: Apache-2.0
// Lowering: from a network and a strategy to the logical plan. Everything here follows from the operators' descriptions.
#pragma once

#include "tessera/plan/depend.hpp"
#include "tessera/plan/lanes.hpp"
#include "tessera/plan/lower_checks.hpp"
#include "tessera/plan/lower_results.hpp"
#include "tessera/plan/lower_steps.hpp"

namespace tessera {

namespace lowering {

/// A plan without tiles and tasks: what it says of itself.
template <class Options>
plan_writer empty_plan(const lowering_input<Options>& in) {
    plan_writer out;
    out.p.devices = in.devices;
    out.p.kind = in.o.kind;
    out.p.loss_scale = static_cast<double>(in.o.update.loss_scale);
    out.p.states = in.trains() ? in.o.update.state_count() : 0;
    out.p.clips = in.clips();
    out.p.average_every = in.averages() ? in.s.sync->average_every : 0;
    out.p.output_gradient = in.o.output_gradient;
    out.p.micro_batches = in.s.micro_batches;
    out.p.joint_statistics = in.joint_statistics;
    out.p.replica_statistics = in.s.statistics == statistics_over::replica && in.trains();
    out.p.period = in.period();
    return out;
}

/// Room for about as many tiles and tasks as there will be: growing by doubling would move them, and touch new pages, several times.
template <class Options>
void reserve(const lowering_input<Options>& in, plan_writer& out) {
    std::size_t shards = 0;
    for (int op = 0; op < in.g.op_count; ++op) {
        shards += at(in.config(op).shards());
    }
    const std::size_t tasks = (in.trains() ? 3 : 1) * shards * at(in.s.micro_batches) * at(in.period());
    out.p.tasks.reserve(tasks);
    out.p.tiles.reserve(2 * tasks);
}

/// One step of training, or one evaluation.
template <class Options>
void lower_step(const lowering_input<Options>& in, const step_order& order, network_places& net, micro_batch_list& all,
                synchronization_places& sync, plan_writer& out) {
    const std::size_t losses = steps_until_losses(in, order);
    std::vector<int> together;
    for (std::size_t i = 0; i < order.steps.size(); ++i) {
        sync.holds = i < losses;
        perform(in, net, all, sync, out, order, order.steps[i], together);
        i + 1 == losses ? finish_held(in, net, sync, out) : void();
    }
    finish_updates(in, net, sync, out);
    collect_results(in, net, all, out);
}

} // namespace lowering

/// The logical plan of a network under a strategy. The strategy must keep the rules (see require()). Throws tessera::error for micro-batches,
/// stages or a schedule that do not fit the network or each other.
template <class Options = lower_options>
plan lower(const graph_view& g, const strategy_view& s, int devices, const Options& options = {}) {
    const lowering::lowering_input<Options> in(g, s, devices, options);
    check_options(in);
    check_rules(in);
    const lowering::step_order order = arrange(in);
    lowering::plan_writer out = empty_plan(in);
    reserve(in, out);
    lowering::micro_batch_list all;
    lowering::network_places net = place_network(in, out, all, order.stages.size(), order.sweeps);
    if (in.o.output_gradient >= 0) {
        const int result = g.ops[g.op_count - 1].output;
        all[0].gradients[lowering::at(result)] = net.inputs[lowering::at(in.o.output_gradient)];
    }
    lowering::synchronization_places sync;
    for (; out.step < in.period(); ++out.step) {
        if (out.step > 0) {
            forget_step(in, net, order.sweeps);
            forget_step(sync);
            for (lowering::micro_batch_places& m : all) {
                forget_step(in, net, m);
            }
        }
        lower_step(in, order, net, all, sync, out);
    }
    if (s.overlap) {
        use_communication_lanes(out.p);
    }
    use_queues(out.p);
    number_tasks(out.p);
    return static_cast<plan&&>(out.p);
}

} // namespace tessera
