// SPDX-License-Identifier: Apache-2.0
// Lowering of a message whose gradients are compressed: every device that has a contribution sends a code of it to all
// members, and each adds up what all have sent and updates its copy.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/exchange.hpp"
#include "tessera/plan/scratch.hpp"

namespace tessera::lowering {

/// The tile of what a device has left out of a gradient so far; the same in every step of a plan.
int residual_tile(synchronization_places& sync, plan_writer& out, int source);

/// A task on the device of a contribution that writes its code; returns the code.
int add_compression(const lowering_input& in, synchronization_places& sync, plan_writer& out, int number, int source);

/// Bytes on the wire: each of n members reads the codes of the devices other than its own, of 4
/// compression_setting::words() bytes.
void send_compressed(const lowering_input& in, synchronization_places& sync, plan_writer& out,
                     const sent_message& sent);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/compressed.inl"
#endif

#include "tessera/base/end_header.inl"
