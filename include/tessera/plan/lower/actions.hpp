// SPDX-License-Identifier: Apache-2.0
// What lowering does in an action of a stage: its operators forward or backward, and what it computes again.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/backward.hpp"
#include "tessera/plan/lower/stages.hpp"
#include "tessera/plan/lower/statistics.hpp"
#include "tessera/plan/lower/synchronization.hpp"

namespace tessera::lowering {

/// An operator's tasks backward for the micro-batch at hand, and what follows for its parameters.
void backward_and_finish(const lowering_input& in, network_places& net, micro_batch_places& m,
                         synchronization_places& sync, plan_writer& out, int op,
                         backward_part part = backward_part::all);

/// True where the operator itself or another of its stage reads its results backward, or forward again.
bool is_read_backward(const lowering_input& in, const std::vector<int>& stage, int op, const std::vector<char>& again);

/// Forgets what an operator has made of a micro-batch.
void forget_results(const lowering_input& in, micro_batch_places& m, int op);

/// Makes the results of a stage's operators that recompute once more, if backward reads them; what backward then reads
/// is the second time's, so that the memory of the first is free after forward.
void recompute(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out,
               const action_order& order, int stage);

/// A network that is lowered action after action.
struct network_lowering {
    const lowering_input& in;
    action_order order;
    plan_writer out;
    micro_batch_list all{};
    network_places net{};
    synchronization_places sync{};
    std::vector<int> together{}; ///< micro-batches that wait for the others of a batch norm over all of them
};

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
