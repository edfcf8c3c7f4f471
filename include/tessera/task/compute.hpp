// SPDX-License-Identifier: Apache-2.0
// What a backend is asked to compute: one pass of one operator over one shard.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/analysis.hpp"
#include "tessera/op/mask.hpp"
#include "tessera/op/record.hpp"

namespace tessera {

enum class pass : std::uint8_t {
    forward,
    backward,        ///< gradients of inputs of an operator that has no parameters; all that are made in one task
    backward_input,  ///< gradients of inputs
    backward_weight, ///< gradients of parameters, and of intermediates
    recompute,
    update,
    evaluate, ///< forward of an evaluation: running statistics, no dropout
};

constexpr const char* to_text(pass p) {
    constexpr const char* names[] = {"forward",   "backward", "backward_input", "backward_weight",
                                     "recompute", "update",   "evaluate"};
    return names[static_cast<int>(p)];
}

/// Whether an operator has such a pass: an update is that of running statistics.
constexpr bool has_pass(const op_record& r, pass what) { return what != pass::update || r.momentum != nullptr; }

class run_report;
struct run_identity;

/// What changes from step to step: the inputs of a plan's run.
struct run_state {
    std::uint64_t seed = 0;
    std::uint64_t step = 0;
    double learning_rate = 0.01;
    const void* const* inputs = nullptr; ///< for every tensor of the network that is an input: its elements, plain
    run_report* report =
        nullptr; ///< where tasks say what is not finite (execute/local/run_report.hpp); null: nobody asks
    const run_identity* identity =
        nullptr; ///< of the run's first step: what processes compare (execute/ranks/step_identity.hpp); null: the plan
                 ///< alone
};

/// What a device runs for one task: prepared once, called every step.
struct runnable {
    void (*call)(void* context, const run_state& run) = nullptr;
    void* context = nullptr;
};

/// One operand of a shard: elements of `region` (global coordinates), dense, last dimension fastest. Null where the
/// task does not touch it.
struct tile_view {
    void* data = nullptr;
    box region;
};

/// One pass of the nests [first_nest, last_nest] of an operator over the loop ranges of a shard.
///
/// forward, evaluate: reads value[reads], overwrites value[write] with the (partial) result of this shard alone.
/// backward*: for every operand o in `emits`, overwrites gradient[o] with this shard's contribution over its region,
/// from gradient[output] (and gradient[intermediate] where one flows) and the values in the operands' gradient_reads.
/// The gradient of a loss's output is `loss_scale` for every element and has no tile.
struct compute_call {
    const description* d = nullptr;
    op_attributes attributes;
    int op = 0; ///< graph_view::number_of() the operator: part of dropout's key
    pass what = pass::forward;
    int first_nest = 0;
    int last_nest = 0;
    std::uint32_t emits = 0;
    interval ranges[max_loops];
    bool first_part =
        true; ///< first part of every split reduction: the one that adds (and gets the gradient of) additive operands
    bool continues =
        false; ///< forward of some keys: values that are written hold what was made of others, to merge with
    double loss_scale = 1.0; ///< weight of the loss / elements of the global loss
    index_t samples =
        0; ///< that statistics over samples are taken over (a micro-batch's, a shard's); 0: all of the operands'
    tile_view value[max_operands];
    tile_view gradient[max_operands];
    const run_state* run = nullptr;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
