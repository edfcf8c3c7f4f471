// SPDX-License-Identifier: Apache-2.0
// One operator's configuration with its own numbers, to be carried from strategy to strategy.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/strategy.hpp"

namespace tessera {

/// A new configuration for one operator.
struct change {
    int op = 0;
    configuration what; ///< its device list and cut points, if any, stand in `pool`
    std::vector<index_t> pool;
    friend bool operator==(const change&, const change&) = default;
};

/// A configuration without cut points, placed on the devices listed (empty: by its start and stride).
change place_on(int op, const configuration& c, const std::vector<int>& devices);

/// What an operator has in a strategy.
change change_of(const strategy& s, int op);

/// Puts a change into a strategy. What the operator had stays in the strategy's pool, see compacted().
void apply(strategy& s, const change& x);

/// The same strategy without what nothing uses: numbers in the pool, a schedule without stages.
strategy compacted(const strategy& s);

/// True if two strategies say the same in every field, wherever their numbers lie in the pool.
inline bool is_same(const strategy& a, const strategy& b) { return compacted(a) == compacted(b); }

/// Equal for strategies that are the same, in every process and on every machine.
inline std::uint64_t hash_of(const strategy& s) { return hash_of_fields(compacted(s)); }

/// True if two strategies say the same in every field but how operators are split and where their shards lie: what a
/// mirror image, or the same work on other devices, has in common.
bool is_same_but_for_shards(const strategy& a, const strategy& b);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/strategy/change.inl"
#endif

#include "tessera/base/end_header.inl"
