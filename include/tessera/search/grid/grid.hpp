// SPDX-License-Identifier: Apache-2.0
// Strategies for very many devices: a grid of data x tensor x stages. Every number of one is small whatever the machine, so that the
// strategy for 16,384 devices is no larger than for four.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/repeats.hpp"
#include "tessera/schedule/one_forward_one_backward.hpp"
#include "tessera/search/by_hand/hand_designed.hpp"

namespace tessera::search {

/// Device (stage * data + replica) * tensor + place: `tensor` neighbours divide every operator of a stage as `within` says, `data` replicas of
/// them take a share of the samples each, and the stages follow each other under 1F1B.
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

/// The grid as a strategy like any other. Throws tessera::error where an operator has another number of shards than the grid has places, or
/// no samples to divide.
inline strategy strategy_of(const graph_view& g, const device_grid& x) {
    const auto one_each = [&](rule broken, std::size_t given) {
        const auto n = static_cast<index_t>(given);
        require(n != g.op_count ? problem{broken, -1, -1, n, g.op_count} : problem{});
    };
    one_each(rule::strategy_has_wrong_size, x.within.size());
    one_each(rule::stages_for_other_operators, x.stage.size());
    strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        const auto i = static_cast<std::size_t>(op);
        configuration& c = s.ops[i];
        c = x.within[i];
        const int l = g.describe(op).find_loop(loop_name::sample);
        if (c.shards() != x.tensor || c.start != 0 || c.stride != 1 || c.devices >= 0 || (l != 0 && x.data > 1)) {
            throw error("tessera: " + path_of(g, op) + " has " + std::to_string(c.shards()) + " shards in a grid of " +
                        std::to_string(x.tensor) +
                        " places, or no samples to divide; give every operator a shard for each place, in order");
        }
        c.degree[0] *= x.data;
        c.uneven = true; // micro-batches may be
        c.start = x.stage[i] * x.data * x.tensor;
        c.stage = x.stage[i];
        c.recompute = x.recompute && !g.is_loss(op);
    }
    if (x.stages > 1 || x.micro_batches > 1) {
        s.follow(schedule::one_forward_one_backward(x.stages, x.micro_batches));
    }
    return s;
}

namespace detail {

/// Splits an operator in exactly `places` shards along the first of some loops that allows it, else by samples, else copies it.
inline configuration fill_places(const description& d, int places, std::initializer_list<loop_name> along) {
    configuration c;
    if (places < 2) {
        return c;
    }
    const auto split = [&](loop_name name) {
        const int l = d.find_loop(name);
        if (l < 0 || !splittable(d, l) || d.loops[l].extent < places) {
            return false;
        }
        c = split_by(d, {{name, places}});
        return true;
    };
    for (const loop_name name : along) {
        if (split(name)) {
            return c;
        }
    }
    if (!split(loop_name::sample)) {
        c.replicate = places;
    }
    return c;
}

} // namespace detail

/// How Megatron-LM divides a Transformer among `places` devices, with the parts between them divided by positions (Shoeybi et al. 2019, arXiv
/// 1909.08053, section 3; Korthikanti et al. 2022, arXiv 2205.05198, section 4.2): embeddings by words, the linear layers that read whole
/// channels by outputs, those that read divided channels by inputs, attention by heads, the output layer and its loss by words, everything
/// else by positions. Networks without positions are divided by samples in between.
inline std::vector<configuration> megatron_within(const graph_view& g, int places) {
    std::vector<configuration> all;
    std::vector<char> divided(static_cast<std::size_t>(g.tensor_count), 0); // channels of the tensor are
    for (int op = 0; op < g.op_count; ++op) {
        const op_node& node = g.ops[op];
        const description d = g.describe(op);
        bool channels = false;
        for (int t : node.inputs) {
            channels = channels || divided[static_cast<std::size_t>(t)] != 0;
        }
        configuration c;
        if (looks_up(d) && d.find_loop(loop_name::reduction) >= 0) {
            c = detail::fill_places(d, places, {loop_name::reduction, loop_name::channel});
        } else if (multiplies_by_matrix(d)) {
            c = channels ? detail::fill_places(d, places, {loop_name::reduction})
                         : detail::fill_places(d, places, {loop_name::channel});
            channels = !channels;
        } else {
            c = channels ? detail::fill_places(d, places, {loop_name::channel, loop_name::position})
                         : detail::fill_places(d, places, {loop_name::position});
        }
        divided[static_cast<std::size_t>(node.output)] = channels ? 1 : 0;
        all.push_back(c);
    }
    return all;
}

/// Stages for the operators: repeated blocks stay whole, and the slowest stage is as fast as can be for these times of every operator.
inline std::vector<int> block_stages(const graph_view& g, const repeated_blocks& r, const std::vector<index_t>& times,
                                     int stages) {
    std::vector<index_t> blocks(static_cast<std::size_t>(r.count), 0);
    for (int op = 0; op < g.op_count; ++op) { // what stands before and behind goes with the first and the last block
        const int b = std::min(std::max(r.block_of(op), 0), r.count - 1);
        blocks[static_cast<std::size_t>(b)] += times[static_cast<std::size_t>(op)];
    }
    const std::vector<int> of_block = schedule::balance_stages(blocks, stages);
    std::vector<int> stage;
    for (int op = 0; op < g.op_count; ++op) {
        stage.push_back(of_block[static_cast<std::size_t>(std::min(std::max(r.block_of(op), 0), r.count - 1))]);
    }
    return stage;
}

/// Stages of equally many blocks, as far as they divide.
inline std::vector<int> even_stages(const graph_view& g, const repeated_blocks& r, int stages) {
    return block_stages(g, r, std::vector<index_t>(static_cast<std::size_t>(g.op_count), 1), stages);
}

/// A grid whose places are divided as Megatron-LM does it, with even stages.
inline device_grid megatron_grid(const graph_view& g, int data, int tensor, int stages, int micro_batches,
                                 bool recompute = false) {
    return {data,
            tensor,
            stages,
            micro_batches,
            recompute,
            megatron_within(g, tensor),
            even_stages(g, find_repeats(g), stages)};
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
