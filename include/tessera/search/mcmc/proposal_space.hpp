// SPDX-License-Identifier: Apache-2.0
// The configurations and placements that a search chooses from, and how one choice is handed on to the operators that belong together.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"
#include "tessera/search/groups.hpp"
#include "tessera/search/mcmc/proposal_options.hpp"
#include "tessera/search/proportional.hpp"

#include <set>

namespace tessera::search {

/// A configuration chosen for one operator, and the devices of its shards.
struct placed_choice {
    int op = 0;
    configuration what;
    std::vector<int> devices;
};

/// What may be proposed for a network on a machine. The network must outlive it.
class proposal_space {
public:
    proposal_space(const graph_view& g, const cluster& on, const proposal_options& o)
        : devices_(o.devices > 0 ? o.devices : on.devices()), g_(g), options_(o), groups_(group_operators(g)),
          users_(at(g.op_count)), is_free_(at(g.op_count), 0) {
        if (!o.pinned.empty() && static_cast<int>(o.pinned.size()) != g.op_count) {
            throw error("tessera: " + std::to_string(o.pinned.size()) + " pins were given for " +
                        std::to_string(g.op_count) + " operators; give one for each, or none");
        }
        descriptions_.reserve(at(g.op_count));
        choices_.resize(groups_.kinds.size());
        for (int op = 0; op < g.op_count; ++op) {
            descriptions_.push_back(g.describe(op));
            std::vector<configuration>& mine = choices_[at(kind_of(op))];
            if (mine.empty()) {
                mine = enumerate(descriptions_.back(), devices_, o.offered);
            }
            if ((o.pinned.empty() || o.pinned[at(op)] == 0) && (mine.size() > 1 || o.operator_placement)) {
                free_.push_back(op);
                is_free_[at(op)] = 1;
            }
            for (int t : g.ops[op].inputs) {
                if (g.tensors[t].producer >= 0) {
                    users_[at(g.tensors[t].producer)].push_back(op);
                }
            }
        }
        order_blocks();
        const precision math = g.op_count > 0 ? g.ops[0].attributes.math : precision::fp32;
        rates_ = rates_where_unequal(on, devices_, math);
    }

    int devices() const { return devices_; }
    /// Operators that may change.
    int operators() const { return static_cast<int>(free_.size()); }
    const operator_groups& groups() const { return groups_; }
    const proposal_options& options() const { return options_; }
    const description& described(int op) const { return descriptions_[at(op)]; }
    int kind_of(int op) const { return groups_.kind_of[at(op)]; }
    const std::vector<int>& block_of(int op) const { return groups_.blocks[at(groups_.block_of[at(op)])]; }
    /// All configurations of an operator.
    const std::vector<configuration>& choices(int op) const { return choices_[at(kind_of(op))]; }

    /// The first layer of a block.
    int layer_of(std::size_t block) const {
        for (int op : groups_.blocks[block]) {
            if (detail::starts_block(g_, op)) {
                return op;
            }
        }
        return groups_.blocks[block][0];
    }
    /// Blocks in falling order of parameters per FLOP: where summing gradients costs most beside the arithmetic.
    const std::vector<std::size_t>& heaviest_first() const { return heaviest_first_; }
    bool same_sort(int op, int other) const { return g_.ops[op].attributes == g_.ops[other].attributes; }
    /// The layers of blocks from one on, in order, at most so many: all, or those of the first one's sort.
    std::vector<int> layers_from(std::size_t block, bool all, std::size_t most) const {
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
    /// The devices that an operator's shards have, one after the other.
    std::vector<int> devices_of(const strategy& now, int op) const {
        const configuration& c = now.ops[at(op)];
        std::vector<int> devices;
        for (int i = 0; i < c.shards(); ++i) {
            devices.push_back(shard_at(c, now.pool.data(), described(op), i).device);
        }
        return devices;
    }

    /// A choice for one operator, unless it is pinned.
    void add(proposal& p, const placed_choice& one) const {
        if (is_free_[at(one.op)] != 0) {
            p.push_back(place_on(one.op, one.what, one.devices));
        }
    }
    /// The degrees that one operator has along loops of the same names as another's, as far as they can be split; sums are not.
    configuration taken_over(const configuration& from, const description& its, const description& mine) const {
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

    /// Gives the operators of a block what one of them gets, each of its shards on the device of the first shard there that has the same place
    /// along the loops that both have.
    void spread(proposal& p, const placed_choice& one) const {
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
                devices.push_back(one.devices[at(there)]);
            }
            add(p, {op, c, std::move(devices)});
        }
    }

    /// What a layer may be on one of so many parts of the devices: whatever fits there, or by samples over all of it.
    std::vector<configuration> for_part(int layer, int parts, bool by_samples) const {
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
    /// Puts the blocks of layers on parts of the devices, in turns.
    void deal(proposal& p, const std::vector<int>& layers, int parts, bool strided, const configuration& first) const {
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

    /// Its shards on devices start, start + stride, and so on.
    static void regular(placed_choice& one, int start, int stride) {
        one.devices.clear();
        for (int i = 0; i < one.what.shards(); ++i) {
            one.devices.push_back(start + stride * i);
        }
    }
    /// Stages and recomputation stay as they are: what is proposed are splits and places.
    static proposal in_stages_of(const strategy& now, proposal p) {
        for (change& x : p) {
            x.what.stage = now.ops[at(x.op)].stage;
            x.what.recompute = now.ops[at(x.op)].recompute;
        }
        return p;
    }
    bool has_unequal_devices() const { return !rates_.empty(); }
    /// The same splits and places, with cut points in proportion to the devices' rates where an operator is split along one loop alone.
    proposal in_proportion(proposal p) const {
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
                rates.push_back(rates_[static_cast<std::size_t>(devices.back())]);
            }
            std::vector<index_t> cuts = cuts_in_proportion(d.loops[split].extent, rates);
            if (!cuts.empty()) {
                x.what.cuts[split] = 0;
                x.what.devices = static_cast<int>(cuts.size());
                x.pool = static_cast<std::vector<index_t>&&>(cuts);
                x.pool.insert(x.pool.end(), devices.begin(), devices.end());
            }
        }
        return p;
    }
    /// Every change keeps the rules, together with what stays.
    bool is_legal(const strategy& now, const proposal& p) const {
        const strategy_view none{};
        for (const change& x : p) {
            const description& d = described(x.op);
            if (tessera::detail::check_degrees(x.what, none, d, x.op) || x.what.shards() > devices_) {
                return false;
            }
            for (int u : users_[at(x.op)]) { // whoever passes partial sums on relies on their number
                if (now.ops[at(u)].partial > 1 &&
                    parts_of_nest(x.what, d, d.nests.size() - 1) != now.ops[at(u)].partial) {
                    return false;
                }
            }
        }
        return true;
    }

protected:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    void order_blocks() {
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

    int devices_;
    graph_view g_;
    proposal_options options_;
    operator_groups groups_;
    std::vector<description> descriptions_;
    std::vector<std::vector<configuration>> choices_; ///< by kind
    std::vector<int> free_;
    std::vector<std::vector<int>> users_;
    std::vector<char> is_free_;
    std::vector<std::size_t> heaviest_first_;
    std::vector<index_t> rates_; ///< of the devices, where they are unequal
};

} // namespace tessera::search

#include "tessera/base/end_header.inl"
