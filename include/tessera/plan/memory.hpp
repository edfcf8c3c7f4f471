// SPDX-License-Identifier: Apache-2.0
// Memory: tiles that live at the same time get different places in their device's arena; the others may share one.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/access.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace tessera {

namespace detail {

constexpr index_t align(index_t bytes, index_t to = arena_alignment) { return (bytes + to - 1) / to * to; }

struct lifetime {
    int first = -1;
    int last = -1;
};

/// A tile with its place in the arena.
struct placed_tile {
    interval taken;
    lifetime live;
};

std::vector<lifetime> lifetimes(const plan& p);

/// The same where what GPUs sum and update beside the computation, and the counts of losses that are not finite, keep
/// their memory to the end: a computation that took it over would wait for the exchange. (Scratch memory is not kept.)
std::vector<lifetime> kept_for_side_streams(const plan& p, std::vector<lifetime> live);

/// Tiles of one device that are placed as one, the next `count` of all_blocks::tiles.
struct block {
    int first = 0; ///< of all_blocks::tiles
    int count = 0;
    index_t bytes = 0;
};

struct all_blocks {
    std::vector<int> tiles;
    std::vector<std::vector<block>> by_arena; ///< every device's working arena; then the host's beside each
};

/// What has to be placed in every arena. Sums that a task of several parameters writes, and that live equally long,
/// make a block in the order of their parameters, so that one pass can read them.
all_blocks blocks_of(const plan& p, const std::vector<lifetime>& live);

/// Places the tiles of every arena (or blocks of them), largest first, each at the lowest offset that is free during
/// its whole life.
void place_tiles(plan& p, const std::vector<lifetime>& live);

/// Places of parameters and optimizer state: parameters in their order, those that messages of several update before
/// others, then their states alike.
void place_persistent(plan& p);

} // namespace detail

/// Gives every tile its place. Tiles (or blocks of them) are placed largest first, each at the lowest offset that is
/// free during its whole life (lives are measured in the plan's order; set_waits makes devices respect it where memory
/// is shared; on GPUs gradients that are summed and updated beside the computation live to the end, unless that makes
/// an arena more than a 32nd larger). Persistent tiles get places of their own in the persistent arena. Sets
/// arena_bytes, persistent_bytes and host_bytes: the predicted peaks.
void plan_memory(plan& p);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/plan/memory.inl"
#endif

#include "tessera/base/end_header.inl"
