// SPDX-License-Identifier: Apache-2.0
// Bodies of proposal_space.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/mcmc/proposal_space.hpp"

#include <utility>

namespace tessera::search {

TESSERA_INLINE proposal_space::proposal_space(const graph_view& g, const cluster& on, const proposal_options& o)
    : devices_(o.devices > 0 ? o.devices : on.devices()), g_(g), options_(o), groups_(group_operators(g)),
      users_(to_size(g.op_count)), is_free_(to_size(g.op_count), 0) {
    if (!o.pinned.empty() && static_cast<int>(o.pinned.size()) != g.op_count) {
        throw error("tessera: " + std::to_string(o.pinned.size()) + " pins were given for " +
                    std::to_string(g.op_count) + " operators; give one for each, or none");
    }
    descriptions_.reserve(to_size(g.op_count));
    choices_.resize(groups_.kinds.size());
    for (int op = 0; op < g.op_count; ++op) {
        descriptions_.push_back(g.describe(op));
        std::vector<configuration>& mine = choices_[to_size(kind_of(op))];
        if (mine.empty()) {
            mine = enumerate(descriptions_.back(), devices_, o.offered);
        }
        if ((o.pinned.empty() || o.pinned[to_size(op)] == 0) && (mine.size() > 1 || o.operator_placement)) {
            free_.push_back(op);
            is_free_[to_size(op)] = 1;
        }
        for (int t : g.ops[op].inputs) {
            if (g.tensors[t].producer >= 0) {
                users_[to_size(g.tensors[t].producer)].push_back(op);
            }
        }
    }
    order_blocks();
    const precision math = g.op_count > 0 ? g.ops[0].attributes.math : precision::fp32;
    rates_ = rates_where_unequal(on, devices_, math);
}

TESSERA_INLINE int proposal_space::layer_of(std::size_t block) const {
    for (int op : groups_.blocks[block]) {
        if (detail::starts_block(g_, op)) {
            return op;
        }
    }
    return groups_.blocks[block][0];
}

TESSERA_INLINE std::vector<int> proposal_space::layers_from(std::size_t block, bool all, std::size_t most) const {
    const int first = layer_of(block);
    std::vector<int> layers;
    for (std::size_t b = block; b < groups_.blocks.size() && layers.size() < most; ++b) {
        const int layer = layer_of(b);
        if (all || same_sort(layer, first)) {
            layers.push_back(layer);
        }
    }
    return layers;
}

TESSERA_INLINE std::vector<int> proposal_space::devices_of(const strategy& now, int op) const {
    const configuration& c = now.ops[to_size(op)];
    std::vector<int> devices;
    for (int i = 0; i < c.shards(); ++i) {
        devices.push_back(shard_at(c, now.pool.data(), described(op), i).device);
    }
    return devices;
}

TESSERA_INLINE void proposal_space::add(proposal& p, const placed_choice& one) const {
    if (is_free_[to_size(one.op)] != 0) {
        p.push_back(place_on(one.op, one.what, one.devices));
    }
}

TESSERA_INLINE configuration proposal_space::taken_over(const configuration& from, const description& its,
                                                        const description& mine) const {
    configuration c;
    for (int l = 0; l < its.loops.size(); ++l) {
        const int k = mine.find_loop(its.loops[l].name);
        if (k < 0 || from.degree[l] == 1 || its.loops[l].name == loop_name::reduction || !splittable(mine, k) ||
            mine.loops[k].extent < from.degree[l]) {
            continue;
        }
        c.degree[k] = from.degree[l];
        c.uneven = c.uneven || mine.loops[k].extent % from.degree[l] != 0;
        c.reduces = c.reduces || role(mine, k) == loop_role::coupled;
    }
    return c;
}

TESSERA_INLINE void proposal_space::spread(proposal& p, const placed_choice& one) const {
    const description& its = described(one.op);
    for (int op : block_of(one.op)) {
        if (kind_of(op) == kind_of(one.op)) {
            add(p, {op, one.what, one.devices});
            continue;
        }
        const description& mine = described(op);
        const configuration c = taken_over(one.what, its, mine);
        std::vector<int> devices;
        for (int i = 0; i < c.shards(); ++i) {
            const shard s = shard_at(c, nullptr, mine, i);
            int there = 0;
            for (int l = 0; l < its.loops.size(); ++l) {
                const int k = mine.find_loop(its.loops[l].name);
                const bool both = k >= 0 && c.degree[k] == one.what.degree[l];
                there = there * one.what.degree[l] + (both ? s.index[k] : 0);
            }
            devices.push_back(one.devices[to_size(there)]);
        }
        add(p, {op, c, std::move(devices)});
    }
}

TESSERA_INLINE std::vector<configuration> proposal_space::for_part(int layer, int parts, bool by_samples) const {
    const int samples = described(layer).find_loop(loop_name::sample);
    std::vector<configuration> offered;
    for (const configuration& c : choices(layer)) {
        const bool fits = c.shards() * parts <= devices_;
        const bool all = samples >= 0 && c.shards() == c.degree[samples] && c.shards() * parts == devices_;
        if (fits && (all || !by_samples || samples < 0)) {
            offered.push_back(c);
        }
    }
    return offered;
}

TESSERA_INLINE void proposal_space::deal(proposal& p, const std::vector<int>& layers, int parts, bool strided,
                                         const configuration& first) const {
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const int part = static_cast<int>(i) % parts;
        placed_choice one{layers[i], first, {}};
        if (kind_of(one.op) != kind_of(layers[0])) {
            one.what = taken_over(first, described(layers[0]), described(one.op));
        }
        regular(one, strided ? part : part * (devices_ / parts), strided ? devices_ / one.what.shards() : 1);
        spread(p, one);
    }
}

TESSERA_INLINE void proposal_space::regular(placed_choice& one, int start, int stride) {
    one.devices.clear();
    for (int i = 0; i < one.what.shards(); ++i) {
        one.devices.push_back(start + stride * i);
    }
}

TESSERA_INLINE proposal proposal_space::in_stages_of(const strategy& now, proposal p) {
    for (change& x : p) {
        copy_all_but_shards(x.what, now.ops[to_size(x.op)]);
    }
    return p;
}

TESSERA_INLINE proposal proposal_space::in_proportion(proposal p) const {
    for (change& x : p) {
        const description& d = described(x.op);
        int split = -1;
        int splits = x.what.partial == 1 && x.what.replicate == 1 ? 0 : 2;
        for (int l = 0; l < d.loops.size(); ++l) {
            split = x.what.degree[l] > 1 ? l : split;
            splits += x.what.degree[l] > 1 ? 1 : 0;
        }
        if (splits != 1 || x.what.cuts[split] >= 0) {
            continue;
        }
        std::vector<index_t> devices;
        std::vector<index_t> rates;
        for (int i = 0; i < x.what.shards(); ++i) {
            devices.push_back(shard_at(x.what, x.pool.data(), d, i).device);
            rates.push_back(rates_[to_size(devices.back())]);
        }
        std::vector<index_t> cuts = cuts_in_proportion(d.loops[split].extent, rates);
        if (!cuts.empty()) {
            x.what.cuts[split] = 0;
            x.what.devices = static_cast<int>(cuts.size());
            x.pool = std::move(cuts);
            x.pool.insert(x.pool.end(), devices.begin(), devices.end());
        }
    }
    return p;
}

TESSERA_INLINE bool proposal_space::is_legal(const strategy& now, const proposal& p) const {
    const strategy_view none{};
    for (const change& x : p) {
        const description& d = described(x.op);
        if (tessera::detail::check_degrees(x.what, none, d, x.op) || x.what.shards() > devices_) {
            return false;
        }
        for (int u : users_[to_size(x.op)]) { // whoever passes partial sums on relies on their number
            if (now.ops[to_size(u)].partial > 1 &&
                parts_of_nest(x.what, d, d.nests.size() - 1) != now.ops[to_size(u)].partial) {
                return false;
            }
        }
    }
    return true;
}

TESSERA_INLINE void proposal_space::order_blocks() {
    std::vector<double> weight;
    for (const std::vector<int>& block : groups_.blocks) {
        heaviest_first_.push_back(weight.size());
        std::set<int> parameters;
        double flops = 1; // looking up counts none
        for (const int op : block) {
            flops += static_cast<double>(flops_of(described(op)));
            parameters.insert(g_.ops[op].parameters.begin(), g_.ops[op].parameters.end());
        }
        double elements = 0;
        for (const int p : parameters) {
            elements += static_cast<double>(g_.parameters[p].extents.volume());
        }
        weight.push_back(elements / flops);
    }
    std::sort(heaviest_first_.begin(), heaviest_first_.end(),
              [&](std::size_t a, std::size_t b) { return weight[a] != weight[b] ? weight[a] > weight[b] : a < b; });
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
