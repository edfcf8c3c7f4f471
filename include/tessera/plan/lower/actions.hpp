// SPDX-License-Identifier: Apache-2.0
// What lowering does in an action of a stage: its operators forward or backward, and what it computes again.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/backward.hpp"
#include "tessera/plan/lower/stages.hpp"
#include "tessera/plan/lower/statistics.hpp"
#include "tessera/plan/lower/synchronization.hpp"

#include <algorithm>
#include <span>

namespace tessera::lowering {

/// An operator's tasks backward for the micro-batch at hand, and what follows for its parameters.
void backward_and_finish(const lowering_input& in, network_places& net, micro_batch_places& m,
                         synchronization_places& sync, plan_writer& out, int op,
                         backward_part part = backward_part::all);

/// What becomes of an operator's results after forward.
enum class after_forward : std::uint8_t {
    kept,
    made_again,   ///< it recomputes, or renames what is not kept
    brought_back, ///< it offloads
};

/// By operator. Empty: all are kept.
std::vector<after_forward> results_after_forward(const lowering_input& in);

/// Brings an operator's output back from where put_away() left it; everything after reads it there.
void bring_back(const lowering_input& in, micro_batch_places& m, plan_writer& out, int op);

/// Forgets what an operator has made of a micro-batch.
void forget_results(const lowering_input& in, micro_batch_places& m, int op);

/// Collects what a stage makes again for backward.
struct made_again {
    const lowering_input& in;
    const std::vector<after_forward>& results; ///< results_after_forward()
    micro_batch_places& m;
    int stage = 0;
    std::vector<int> wanted{};

    /// An operator's results, and what they are made from, back to what is kept or has been made again already.
    void want(int op);
    /// What the gradients of an operator read.
    void want_for(int op);
};

/// A network that is lowered action after action.
struct network_lowering {
    const lowering_input& in;
    action_order order;
    plan_writer out;
    std::vector<after_forward> results{}; ///< results_after_forward()
    micro_batch_list all{};
    network_places net{};
    synchronization_places sync{};
    std::vector<int> together{}; ///< micro-batches that wait for the others of a batch norm over all of them
};

/// Makes again or brings back, of what the gradients of the operators `of` read, what the stage does not keep and has
/// not made again yet: each from the nearest tensors that are there, in the order of forward. Everything after reads the second time's,
/// so that the memory of the first is free after forward. (Statistics over all micro-batches are kept.) False: there was
/// nothing to make.
bool recompute(network_lowering& x, micro_batch_places& m, int stage, std::span<const int> of);

/// What is read first, before gradients have come from the next stage; with a loss there are none to wait for.
/// `make(op)`: true where there was something to make again.
template <class Make>
void recompute_while_waiting(const network_lowering& x, const std::vector<int>& ops, Make make) {
    const bool waits = std::none_of(ops.begin(), ops.end(), [&](int op) { return x.in.g.is_loss(op); });
    for (std::size_t i = ops.size(); i-- > 0 && waits;) {
        if (make(ops[i])) {
            return;
        }
    }
}

/// All micro-batches of `together` one operator after the other: of a joint one all leave their part of the statistics
/// before the first one is normalized, and of the statistics' gradient before the first one's input has its own.
void perform_jointly(network_lowering& x, const action& now);

/// One action of a stage. One that has a batch norm over all micro-batches waits for theirs.
void perform(network_lowering& x, const action& now);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/actions.inl"
#endif

#include "tessera/base/end_header.inl"
