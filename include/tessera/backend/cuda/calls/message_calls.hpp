// SPDX-License-Identifier: Apache-2.0
// Sums of gradients, optimizer steps and joined slices as calls. What the members of a message, or of an update, send
// each other is one group of calls before their own work and one after it, for all parameters together.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/move_calls.hpp"

#include "tessera/net/parameter_groups.hpp"

namespace tessera::cuda::detail {

/// What a task does for each of its parameters whose slice has elements.
std::vector<task> parts_with_elements(const composer& c);

/// Contributions to a slice on a task's own GPU: where they are, where their sum will be, or received in scratch.
std::vector<memory_use> contributions(composer& c, const gpu_ranks& where, const shared_work& work, const task& one);

/// The bounds of the members' slices of a whole tile, and the end.
std::vector<index_t> bounds_of(const tile& whole, const task& leader, int members);

void add_member(composer& to, const gpu_ranks& where, const collective& what, std::vector<memory_use> memory,
                int device, std::size_t rank, int group);

/// A reduce-scatter or an all-gather in place of one whole tile on each member's device: one call where the slices are
/// equal, else one for each slice.
void add_slices(composer& to, const gpu_ranks& where, bool gathers, const std::vector<int>& tiles,
                const std::vector<index_t>& bounds, int group);

const task& member_of(const composer& to, const shared_work& work, int i);

/// The tile on a device among some.
int tile_on(const composer& to, const std::vector<int>& tiles, int device);

/// Before the members' own work: contributions come together, one group for all parameters.
void add_sums(composer& to, const gpu_ranks& where, const shared_work& work);

/// After the members' own work: their slices go to all copies on other GPUs, one group for all parameters.
void add_shares(composer& to, const gpu_ranks& where, const shared_work& work);

/// A slice of a task's targets on its own GPU, that of its own device first.
std::vector<memory_use> near_targets(const composer& to, const gpu_ranks& where, const task& one);

kernel_launch update_launch(const update_rule& update, index_t elements);

/// Sums the contributions' slices and updates them in all copies.
void compose_update(composer& to, const graph_view& g, const gpu_ranks& where, const optimizer& update,
                    const shared_work& work, int number);

/// A region's extents and origin, and the boxes of it that other tasks count, as kernels take them: missing dimensions
/// come first.
std::vector<index_t> counted_boxes(const box& region, const std::vector<box>& elsewhere);

/// The most blocks whose sums of squares another kernel adds up.
int blocks_of_squares(index_t elements);

/// The squares of a sum's slice, without those that another task counts.
void compose_squares(composer& to, const task& t, memory_use sum);

/// The sum of a slice's gradient, of one device, to the host's memory.
void bring_down(composer& to, const std::vector<memory_use>& sources, memory_use target);

/// Slices that updates on the host have made: each comes up to the task's own GPU, from there to the other copies as
/// those of an update do. (The update itself is the kernel of every update, which reads and writes the host's pinned
/// memory over the link: slower than the host's processor, and the same numbers.)
void compose_bringing_up(composer& to, const gpu_ranks& where, const shared_work& work, int number);

/// Sums slices into all targets, and their squares, if they are wanted.
void compose_reduction(composer& to, const gpu_ranks& where, const shared_work& work, int number);

/// Slices of a parameter, joined: those on the task's own GPU by itself, the others in one group with what the other
/// members lack.
void compose_gather(composer& to, const gpu_ranks& where, const shared_work& work, int number);

} // namespace tessera::cuda::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/message_calls.inl"
#endif

#include "tessera/base/end_header.inl"
