// SPDX-License-Identifier: Apache-2.0
// A machine as several equal parts that do the same, each with samples of its own: strategies for one part are few and
// quick to simulate, and are searched first (coarse to fine).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"
#include "tessera/net/with_batch.hpp"
#include "tessera/search/by_hand/hand_designed.hpp"
#include "tessera/strategy/change.hpp"

namespace tessera::search {

/// True if the machine is made of copies of its first `devices` devices: device i is of the class of device i %
/// devices, and within a copy neighbours share a node where their images do.
bool is_part(const cluster& on, int devices);

/// Devices of a node, if all nodes have as many and they follow each other; else 0.
int devices_of_node(const cluster& on);

/// Numbers of devices of parts that are worth searching before the whole machine, each at most a quarter of the next:
/// one node, then several.
std::vector<int> parts_to_search(const cluster& on, index_t batch);

/// Old numbers of devices in the order: the first of every node, then the second of every node, and so on.
std::vector<int> across_nodes(int devices, int per_node);
/// The same machine with its devices numbered in another order.
device_graph renumbered(const device_graph& g, const std::vector<int>& order);
/// A strategy for a machine renumbered so, in the old numbers, with all else that it says (a mirrored schedule names
/// its second replica's devices by their numbers, which stay as they are).
strategy in_old_numbers(const graph_view& g, const strategy& s, const std::vector<int>& order);

/// What a whole machine does when each of `copies` parts of `devices` devices follows a strategy for a part, with a
/// share of the samples each: operator by operator so many times the degree of the samples, the shards of part k on the
/// devices from k * devices on. `g` is the network with all samples. An operator without samples stays on the first
/// part, as does a central copy of the parameters; all else that the strategy says stays. (It has no cut points.)
strategy repeated(const graph_view& g, int devices, const strategy& part, int copies);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/coarse/parts.inl"
#endif

#include "tessera/base/end_header.inl"
