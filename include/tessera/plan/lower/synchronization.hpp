// SPDX-License-Identifier: Apache-2.0
// Lowering of what follows when a parameter's gradient is ready: updates, or the messages of a strategy's
// synchronization.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/average.hpp"
#include "tessera/plan/lower/compressed.hpp"

namespace tessera::lowering {

/// True for slices that the same devices hold copies of, cut alike.
bool travel_together(const plan_writer& out, const sent_slice& a, const sent_slice& b);

/// Its slices by members: what travels together makes one collective, of one task on each of them.
void send(const lowering_input& in, const network_places& net, synchronization_places& sync, plan_writer& out,
          const message& m);

/// Sends the messages that are due: each when all its gradients are ready and those before it have been sent.
void send_messages(const lowering_input& in, const network_places& net, synchronization_places& sync, plan_writer& out);

/// After an operator has gone backward: those of its parameters that no other one still adds to are updated, or sent.
/// Before all losses are known it waits.
void finish_parameters(const lowering_input& in, network_places& net, synchronization_places& sync, plan_writer& out,
                       int op);

/// What has gone backward before the last loss was known, in that order.
void finish_deferred(const lowering_input& in, network_places& net, synchronization_places& sync, plan_writer& out);

/// Updates of steps that have waited as long as they may; when the last step has gone backward, of all.
void update_stale(const lowering_input& in, synchronization_places& sync, plan_writer& out);

/// What is left when all has gone backward: messages, the sums of what cannot be sliced, updates that wait for all
/// sums, averages.
void finish_updates(const lowering_input& in, const network_places& net, synchronization_places& sync,
                    plan_writer& out);

/// Forgets what the step before has left; the optimizer's state goes on.
void forget_step(synchronization_places& sync);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/synchronization.inl"
#endif

#include "tessera/base/end_header.inl"
