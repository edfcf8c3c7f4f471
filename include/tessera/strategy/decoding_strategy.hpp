// SPDX-License-Identifier: Apache-2.0
// How the network that continues sequences is split, given how that of whole sequences is.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/decoding.hpp"
#include "tessera/strategy/strategy.hpp"

namespace tessera {

/// Every operator as the one whose place it has, so that keys and values lie where attention has them: split by samples
/// and heads, with its replicas, on the same devices. Splits of positions, of queries or of keys, are left out, for
/// there are few new positions and a shard has all that are kept: of their shards the first one's device does it all.
/// So are stages, micro-batches and all that is about training. An operator whose configuration breaks a rule then
/// (parts of a sum that is no longer split) is whole, on the device of its first shard.
strategy strategy_for(const decoding_network& n, const graph_view& whole, const strategy& s, int devices);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/strategy/decoding_strategy.inl"
#endif

#include "tessera/base/end_header.inl"
