// SPDX-License-Identifier: Apache-2.0
// Lowering of what lies where before anything is computed: the inputs, and the parameters of every shard.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/redistribution.hpp"
#include "tessera/plan/lower/sharded.hpp"

namespace tessera::lowering {

/// The device of the shard of the first samples that is otherwise as `s`, not mirrored and no copy.
int first_replica(const lowering_input& in, int op, const shard& s);

/// Where a shard's part of a parameter is stored. Running statistics stay with the shards that make them.
int home_of(const lowering_input& in, int op, int which, const shard& s);

/// The tile of a shard's part of a parameter where it is stored.
int parameter_tile(const lowering_input& in, network_places& net, plan_writer& out, int op, int which, const shard& s);

/// Of all parameters of an operator's shards.
void place_parameters(const lowering_input& in, network_places& net, plan_writer& out, int op,
                      const std::vector<shard>& shards);

/// What a shard reads a parameter from: where it is stored, or a copy of it for this run.
int parameter_value(const lowering_input& in, network_places& net, const micro_batch_places& m, plan_writer& out,
                    int op, int which, const shard& s, pass what);

/// The first operator that reads a tensor.
int reader_of(const lowering_input& in, int tensor);

/// An input of the network goes to the device that stores the parameters, and from there to the shards.
void take_in(const lowering_input& in, plan_writer& out, int tensor, piece& where);

/// The inputs of the network, by tensor.
std::vector<located> place_inputs(const lowering_input& in, plan_writer& out);

/// A micro-batch of which nothing but the inputs is there.
void forget_step(const lowering_input& in, const network_places& net, micro_batch_places& m);

/// Forgets what the step before has left, for a step that takes `sweeps` micro-batches forward and backward; parameters
/// stay.
void forget_step(const lowering_input& in, network_places& net, int sweeps);

/// Everything that lies somewhere before anything is computed. Parameters live where a shard needs them, also one that
/// a short batch leaves without samples.
network_places place_network(const lowering_input& in, plan_writer& out, std::vector<micro_batch_places>& micro_batches,
                             int sweeps);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/placement.inl"
#endif

#include "tessera/base/end_header.inl"
