// SPDX-License-Identifier: Apache-2.0
// Lowering of parameter updates: who sums which gradients, and who updates which copies; with clipping, after the norm
// is known.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/host_state.hpp"
#include "tessera/plan/lower/redistribution.hpp"
#include "tessera/plan/lower/sharded.hpp"

#include <algorithm>
#include <array>

namespace tessera::lowering {

/// The contributions to a region of a parameter, those of one device added up there first if the sum crosses devices;
/// empty where contributions have other regions.
std::vector<int> summed_by_device(const lowering_input& in, const network_places& net, synchronization_places& sync,
                                  plan_writer& out, int parameter, const std::vector<piece>& copies);

/// The tile of the optimizer's state for a slice, or -1; the same in every step of a plan.
int state_tile(const lowering_input& in, synchronization_places& sync, plan_writer& out, const reduced_slice& r);

/// Updates a slice of some parameters, each in some copies; or in those of the host, until bring_up().
void update_from(const lowering_input& in, synchronization_places& sync, plan_writer& out, reduced_slices all,
                 int number);

/// The copies of a parameter, group by group of equal regions. Where shards overlap the smaller regions come first, so
/// that larger ones are put together from their sums.
std::vector<std::vector<piece>> groups_to_update(const graph_view& g, const network_places& net, int parameter);

/// The sum of all contributions to a region of a parameter whose shards overlap, on the device of each of its copies.
/// It is put together from `sums` of other regions where these cover it; otherwise each copy's device sums a slice for
/// all: of n copies 2 (n - 1) times the region's bytes move for their contributions, not n (n - 1). What is summed here
/// is added to `sums`.
std::vector<int> gathered_gradients(const lowering_input& in, const network_places& net, plan_writer& out,
                                    int parameter, const std::vector<piece>& copies, gathered_list& sums);

/// One update for every copy of a region. Where all contributions have the region itself, every copy sums and updates a
/// slice and writes it to all copies: reduce-scatter, update and all-gather in one. Otherwise every copy takes the
/// whole sum.
void update_group(const lowering_input& in, const network_places& net, synchronization_places& sync, plan_writer& out,
                  int parameter, const std::vector<piece>& copies, gathered_list& sums);

// With clipping, every gradient is summed first, then the norm over all of them is known, then all parameters are
// updated. Where a parameter's own norms scale its steps, its gradient is summed first.

void reduce_parameter(const lowering_input& in, const network_places& net, synchronization_places& sync,
                      plan_writer& out, int parameter);

/// One task that takes squares of some slices, each with the weights of one copy.
void take_norms(const lowering_input& in, synchronization_places& sync, plan_writer& out,
                const std::vector<reduced_slice*>& all, int number);

/// The squares of parameters whose gradients have been summed. Each element is counted once: of those who update a
/// slice in copies of their own the one with the least to do takes it.
void take_all_norms(const lowering_input& in, synchronization_places& sync, plan_writer& out);

/// A parameter whose gradient is ready and whose own norms are all that its update needs.
void update_layerwise(const lowering_input& in, const network_places& net, synchronization_places& sync,
                      plan_writer& out, int parameter);

void update_clipped(const lowering_input& in, synchronization_places& sync, plan_writer& out, int parameter);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/update.inl"
#endif

#include "tessera/base/end_header.inl"
