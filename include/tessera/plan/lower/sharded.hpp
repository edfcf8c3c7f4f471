// SPDX-License-Identifier: Apache-2.0
// Copies of a parameter in groups; and lowering of parameters that are stored as slices: who keeps which, and the tasks
// that gather them where an operator needs them whole.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/places.hpp"
#include "tessera/plan/lower/plan_writer.hpp"

namespace tessera::lowering {

/// Copies of equal regions of a parameter, group by group.
std::vector<std::vector<piece>> groups_of(const located& parameter);

/// True where the parameter's shards do not overlap, so that each contribution to it has exactly the region of one of
/// them.
bool is_sliceable(const network_places& net, int parameter);

/// Takes the slices of a parameter as another plan has stored them, those too of devices that run nothing that reads
/// them here.
void take_stored_slices(const lowering_input& in, network_places& net, plan_writer& out, int parameter);

/// Turns every copy of a trained parameter's shard into a slice of it. Where shards of one parameter overlap, they stay
/// whole.
void shard_parameters(const lowering_input& in, network_places& net, plan_writer& out);

/// The tile that holds a parameter's shard whole, for one micro-batch's forward or backward; made for all devices on
/// which the operator's shards need it at once.
int whole_parameter(const lowering_input& in, network_places& net, const micro_batch_places& m, plan_writer& out,
                    int op, int which, int stored, pass what);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/sharded.inl"
#endif

#include "tessera/base/end_header.inl"
