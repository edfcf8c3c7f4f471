// SPDX-License-Identifier: Apache-2.0
// Lowering of redistribution: the copies that bring pieces of a tensor to where they are needed.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/places.hpp"
#include "tessera/plan/lower/plan_writer.hpp"

#include <numeric>

namespace tessera::lowering {

/// A region that is needed on a device. `part` asks for one part of a partial tensor instead of the sum.
struct needed_tile {
    tile_kind kind = tile_kind::activation;
    int tensor = -1;
    element type = element::f32;
    box region;
    int device = 0;
    int summand = -1;
};

/// The tile that holds what is needed: a piece that is there already, one gathered before, or a new one that a copy
/// task fills.
int need(plan_writer& out, const located& from, gathered_list& cache, const needed_tile& x, int op, pass what);

/// One tile for every part that overlaps the region, if all of them have exactly the region; empty otherwise.
std::vector<int> equal_parts(const located& from, const box& region);

int need_value(const lowering_input& in, micro_batch_places& m, plan_writer& out, int tensor, const box& region,
               const shard& s, int op, pass what);

/// The state of an intermediate that a shard takes part in.
intermediate_state& intermediate_of(const lowering_input& in, network_places& net, micro_batch_places& m, int op,
                                    int which, const shard& s);

/// An order of `n` devices in which those that follow each other lie far apart. What each of many devices fetches from
/// all others is asked for in it: links serve in order, and where those that share one follow each other, all others
/// wait behind them.
std::vector<int> spread_order(int n);

/// Where a region of a tensor lies in sums of all parts that were gathered before; nothing (0 parts) where they do not
/// cover it.
located known_sums(const gathered_list& sums, const box& region);

/// Devices that need the sum of a region each sum a slice of it for all: reduce-scatter, of what will be an all-gather
/// after it. `x` says of what.
located sum_slices(plan_writer& out, const located& from, gathered_list& sums, needed_tile x,
                   const std::vector<int>& devices, int op, pass what);

/// All shards that made a part of a region need the sum. Where they lie on many devices each device sums a slice for
/// all (reduce-scatter, then all-gather): 2 (n - 1) times the region's bytes move, not n (n - 1). Nothing if each sums
/// for itself: few devices, for which a second transfer costs more than it saves.
located sum_in_slices(plan_writer& out, intermediate_pieces& from, const needed_tile& x, int op, pass what);

/// The tile with a shard's intermediate or its gradient, summed over all parts.
int need_intermediate(const lowering_input& in, plan_writer& out, intermediate_pieces& from, tile_kind kind, int op,
                      int which, const shard& s, pass what);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/redistribution.inl"
#endif

#include "tessera/base/end_header.inl"
