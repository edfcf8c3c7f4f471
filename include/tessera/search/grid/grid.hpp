// SPDX-License-Identifier: Apache-2.0
// Strategies for very many devices: a grid of data x tensor x stages. Every number of one is small whatever the
// machine, so that the strategy for 16,384 devices is no larger than for four.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/repeats.hpp"
#include "tessera/schedule/one_forward_one_backward.hpp"
#include "tessera/search/by_hand/hand_designed.hpp"

namespace tessera::search {

/// Device (stage * data + replica) * tensor + place: `tensor` neighbours divide every operator of a stage as `within`
/// says, `data` replicas of them take a share of the samples each, and the stages follow each other under 1F1B.
struct device_grid {
    int data = 1;
    int tensor = 1;
    int stages = 1;
    int micro_batches = 1;
    bool recompute = false; ///< all operators but the losses: only what enters a stage's operators first is kept
    std::vector<configuration> within; ///< of every operator: `tensor` shards on devices 0, 1, ...
    std::vector<int> stage;            ///< of every operator

    int devices() const { return data * tensor * stages; }
};

/// The grid as a strategy like any other. Throws tessera::error where an operator has another number of shards than the
/// grid has places, or no samples to divide.
strategy strategy_of(const graph_view& g, const device_grid& x);

namespace detail {

/// Splits an operator in exactly `places` shards along the first of some loops that allows it, else by samples, else
/// copies it.
configuration fill_places(const description& d, int places, std::initializer_list<loop_name> along);

} // namespace detail

/// How Megatron-LM divides a Transformer among `places` devices, with the parts between them divided by positions
/// (Shoeybi et al. 2019, arXiv
/// 1909.08053, section 3; Korthikanti et al. 2022, arXiv 2205.05198, section 4.2): embeddings by words, the linear
/// layers that read whole channels by outputs, those that read divided channels by inputs, attention by heads, the
/// output layer and its loss by words, everything else by positions. Networks without positions are divided by samples
/// in between.
std::vector<configuration> megatron_within(const graph_view& g, int places);

/// Stages for the operators: repeated blocks stay whole, and the slowest stage is as fast as can be for these times of
/// every operator.
std::vector<int> block_stages(const graph_view& g, const repeated_blocks& r, const std::vector<index_t>& times,
                              int stages);

/// Stages of equally many blocks, as far as they divide.
std::vector<int> even_stages(const graph_view& g, const repeated_blocks& r, int stages);

/// A grid whose places are divided as Megatron-LM does it, with even stages.
device_grid megatron_grid(const graph_view& g, int data, int tensor, int stages, int micro_batches,
                          bool recompute = false);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/grid/grid.inl"
#endif

#include "tessera/base/end_header.inl"
