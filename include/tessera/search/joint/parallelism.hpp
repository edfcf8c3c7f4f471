// SPDX-License-Identifier: Apache-2.0
// How a whole machine trains a network, in the few numbers that people write down: data, tensor or context, and pipeline
// degrees, micro-batches, ZeRO stage, recomputation. Each stands for one strategy.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"
#include "tessera/search/by_hand/recomputed.hpp"
#include "tessera/search/by_hand/sequence_parallel.hpp"
#include "tessera/strategy/described.hpp"

#include <string>

namespace tessera::search {

/// How the devices of a group share the samples of a replica.
enum class shared_by : std::uint8_t {
    tensor, ///< products by channels, attention by heads, what lies between by positions: sequence_sharing::megatron_sp
    ulysses, ///< everything by positions, attention by heads
    ring,    ///< everything by positions, keys and values of attention round a ring
    zigzag,  ///< the same, of two pieces a device
    exact,   ///< every operator as least time of the additive model says: elimination on a few blocks
    lean,    ///< the same, where bytes of parameters cost time
};

/// The name of a way to share: "tensor", "ulysses", ...
std::string to_text(shared_by how);

/// Device (stage * data + replica) * share + place. `share` neighbours share the samples of a replica, `data` replicas
/// take as many samples each, and `stages` groups of replicas follow each other.
struct parallelism {
    int data = 1;
    int share = 1;
    shared_by how = shared_by::tensor;
    int stages = 1;
    int chunks = 1; ///< pipeline stages of every worker: 1 is 1F1B, more are interleaved
    int micro_batches = 1;
    int zero = 0; ///< 2 or 3; 0: gradients each by itself, and the optimizer's state in slices, as ZeRO's first stage
    recompute_rule recomputed{};

    constexpr int devices() const { return data * share * stages; }
    friend constexpr bool operator==(const parallelism&, const parallelism&) = default;
};

/// "data 8 x tensor 4 x stages 2 (2 chunks each), 16 micro-batches, ZeRO-3, recomputes selective".
std::string to_text(const parallelism& x);

/// What a stage's operators do among the places of one replica, where they are not one of the hand strategies: one
/// configuration of `share` shards for every operator, and its pipeline stage.
struct parallelism_parts {
    std::vector<configuration> within; ///< of shared_by::exact and lean; else empty
    std::vector<int> stage;            ///< of every operator, below stages * chunks; empty: one stage
};

/// The strategy that the numbers stand for. `on` says how fast gradients become ready, in which order ZeRO sums them.
/// Throws tessera::error, naming the operator and the numbers, where the network cannot be trained so: heads that do not
/// divide, fewer positions than pieces, micro-batches that do not divide the batch's samples of a replica.
strategy strategy_of(const graph_view& g, const cluster& on, const parallelism& x, const parallelism_parts& parts = {});

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/joint/parallelism.inl"
#endif

#include "tessera/base/end_header.inl"
