// SPDX-License-Identifier: Apache-2.0
// Bodies of checks.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/checks.hpp"

namespace tessera::lowering {

TESSERA_INLINE void check_options(const lowering_input& in) {
    using tessera::detail::broken;
    const int count = in.s.micro_batches;
    const int outside = in.o.output_gradient;
    if (count < 1) { // and not more than samples only where the batch is whole
        require(in.g, broken(rule::micro_batches_out_of_range, -1, -1, count, in.g.tensors[0].extents[0]));
    }
    if (outside >= 0 && (outside >= in.g.tensor_count || in.g.tensors[outside].producer >= 0)) {
        throw error("tessera: tensor " + std::to_string(outside) +
                    " is to hold a gradient handed in from outside, but it is no input of the network");
    }
    for (const int t : in.o.wanted) {
        if (t < 0 || t >= in.g.tensor_count || in.g.tensors[t].producer < 0) {
            throw error("tessera: tensor " + std::to_string(t) +
                        " is to be a result, but no operator of the network makes it");
        }
    }
    if (!(in.o.update.loss_scale > 0)) {
        throw error("tessera: a loss scale of " + fixed_text(in.o.update.loss_scale) +
                    ", by which gradients are divided; give one above 0");
    }
    if (count > 1 && outside >= 0) {
        throw error("tessera: a gradient handed in from outside goes with one micro-batch, not with " +
                    std::to_string(count));
    }
    if (in.steps_per_plan() > 1 && outside >= 0) {
        throw error("tessera: a gradient handed in from outside goes with a plan of one step, not of " +
                    std::to_string(in.steps_per_plan()));
    }
    if (in.steps_per_plan() < 1) {
        require(in.g, broken(rule::period_out_of_range, -1, -1, in.steps_per_plan(), tessera::detail::most_steps));
    }
}

TESSERA_INLINE void check_rules(const lowering_input& in) {
    const schedule_facts facts = facts_of(in.s);
    require(in.g, check_stages(in.g, in.s, facts));
    require(in.g, in.for_training() ? check_training(in.g, in.s, facts) : problem{});
    require(in.g, in.for_training() ? check_synchronization(in.g, in.s) : check_modes(in.g, in.s, modes_of(in.s)));
    require(in.g, in.for_training() ? check_averages(in.g, in.s, in.o.update) : problem{});
    require(in.g, in.for_training() ? check_compressed(in.g, in.s, in.o.update) : problem{});
    require(in.g, in.for_training() ? check_stale(in.g, in.s, in.o.update) : problem{});
    require(in.g, in.for_training() ? check_state_on_host(in.g, in.s, in.o.update) : problem{});
}

} // namespace tessera::lowering

#include "tessera/base/end_header.inl"
