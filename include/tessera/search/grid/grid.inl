// SPDX-License-Identifier: Apache-2.0
// Bodies of grid.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/grid/grid.hpp"

namespace tessera::search {

TESSERA_INLINE strategy strategy_of(const graph_view& g, const device_grid& x) {
    const auto one_each = [&](rule broken, std::size_t given) {
        const auto n = static_cast<index_t>(given);
        require(n != g.op_count ? problem{broken, -1, -1, n, g.op_count} : problem{});
    };
    one_each(rule::strategy_has_wrong_size, x.within.size());
    one_each(rule::stages_for_other_operators, x.stage.size());
    strategy s(g);
    for (int op = 0; op < g.op_count; ++op) {
        const auto i = to_size(op);
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

} // namespace tessera::search

namespace tessera::search::detail {

TESSERA_INLINE configuration fill_places(const description& d, int places, std::initializer_list<loop_name> along) {
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

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE std::vector<configuration> megatron_within(const graph_view& g, int places) {
    std::vector<configuration> all;
    std::vector<char> divided(to_size(g.tensor_count), 0); // channels of the tensor are
    for (int op = 0; op < g.op_count; ++op) {
        const op_node& node = g.ops[op];
        const description d = g.describe(op);
        bool channels = false;
        for (int t : node.inputs) {
            channels = channels || divided[to_size(t)] != 0;
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
        divided[to_size(node.output)] = channels ? 1 : 0;
        all.push_back(c);
    }
    return all;
}

TESSERA_INLINE std::vector<int> block_stages(const graph_view& g, const repeated_blocks& r,
                                             const std::vector<index_t>& times, int stages) {
    std::vector<index_t> blocks(to_size(r.count), 0);
    for (int op = 0; op < g.op_count; ++op) { // what stands before and behind goes with the first and the last block
        const int b = std::min(std::max(r.block_of(op), 0), r.count - 1);
        blocks[to_size(b)] += times[to_size(op)];
    }
    const std::vector<int> of_block = schedule::balance_stages(blocks, stages);
    std::vector<int> stage;
    for (int op = 0; op < g.op_count; ++op) {
        stage.push_back(of_block[to_size(std::min(std::max(r.block_of(op), 0), r.count - 1))]);
    }
    return stage;
}

TESSERA_INLINE std::vector<int> even_stages(const graph_view& g, const repeated_blocks& r, int stages) {
    return block_stages(g, r, std::vector<index_t>(to_size(g.op_count), 1), stages);
}

TESSERA_INLINE device_grid megatron_grid(const graph_view& g, int data, int tensor, int stages, int micro_batches,
                                         bool recompute) {
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
