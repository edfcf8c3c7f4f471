// SPDX-License-Identifier: Apache-2.0
// Lowering of the forward pass: the tasks of every operator, what they read and what they make.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/placement.hpp"

namespace tessera::lowering {

/// True where no intermediate has to be reduced between shards, so that all nests make one task.
bool fuses(const lowering_input& in, int op);

/// Which part of the sum over nest `k` a shard makes. Of one replica's statistics it is counted without the samples,
/// which are the loop that varies slowest.
int own_part(const lowering_input& in, int op, int k, const shard& s);

/// The tile that a shard reads an operand from; of its own output: where it has made it, or -1.
int read_tile(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out, int op, int which,
              const shard& s, pass what);

/// A tile for what a shard makes: its output, or an intermediate.
int output_tile(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out, int op,
                int which, const shard& s);

/// One task for nests `first` to `last` of every shard.
void forward_nests(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out, int op,
                   int first, int last, pass what);

/// A view renames indices: its output is its input's memory.
void take_view(const lowering_input& in, micro_batch_places& m, plan_writer& out, int op, pass what);

/// Copies an operator's output to the host's memory, where it waits for backward: all of it that any device has.
void put_away(const lowering_input& in, micro_batch_places& m, plan_writer& out, int op);

/// An operator's tasks forward. `again`: to have the results once more for backward.
void forward(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out, int op,
             bool again = false);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/forward.inl"
#endif

#include "tessera/base/end_header.inl"
