// SPDX-License-Identifier: Apache-2.0
// The plan that lowering appends tiles and tasks to.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/input.hpp"

namespace tessera::lowering {

/// A plan that grows. What is appended is counted to the micro-batch and the step at hand.
struct plan_writer {
    plan p;
    int micro_batch = 0;
    int step = 0;          ///< of the plan's period
    int message_count = 0; ///< messages among several members so far
    int parts = 0;         ///< see lower_options
    bool unlike = false;   ///< parts take copies of a tile from different places

    const tile& operator[](int t) const { return p.tiles[to_size(t)]; }
    tile& operator[](int t) { return p.tiles[to_size(t)]; }
    int in_part() const { return p.devices / planned_parts; }
    /// Devices that one stands for, itself among them.
    int images(int device) const { return parts > planned_parts && device >= in_part() ? parts - 1 : 1; }
    int tile_count() const { return static_cast<int>(p.tiles.size()); }
};

/// A region of a tensor, or of what else has elements (see tile), to be put on a device.
int add_tile(plan_writer& out, tile_kind kind, int tensor, const box& region, int device, element type);

/// A slice of a parameter's summed gradient.
int add_slice_tile(plan_writer& out, int parameter, const box& region, int device, int slice, int slices);

/// An intermediate of a shard of an operator, or its gradient; a joint one is of no micro-batch, but of all.
int add_intermediate(const lowering_input& in, plan_writer& out, tile_kind kind, int op, int which, const box& region,
                     int device, element type);

task& add_task(plan_writer& out, task_kind kind, int op, pass what, int shard_number, int device);

/// Nests `first` to `last` of a shard.
task& add_compute(const lowering_input& in, plan_writer& out, int op, pass what, int number, const shard& s, int first,
                  int last);

/// Copies a whole tile to another.
void add_copy(plan_writer& out, int op, pass what, int from, int to);

/// A task that writes the sum of some tiles of its device to another.
int add_sum(plan_writer& out, int op, pass what, int shard_number, int device, const std::vector<int>& from, int to);

/// Counts elements of gradients or parameters that a device takes from, or hands to, tiles of others.
void count_moved(plan_writer& out, const std::vector<int>& tiles, int device, index_t elements);

/// A slice of a region of so many elements.
struct slice_number {
    index_t volume = 0;
    int slices = 1;
    int slice = 0;
};

/// Elements of a device's slice and of those of the devices that it stands for.
index_t elements_of_images(const plan_writer& out, int device, const slice_number& x);

/// The same as count_moved() for who sums or updates a slice, and for those that it stands for.
void count_exchanged(plan_writer& out, const std::vector<int>& tiles, int device, const slice_number& x);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/plan_writer.inl"
#endif

#include "tessera/base/end_header.inl"
