// SPDX-License-Identifier: Apache-2.0
// What a local search may change in one step: the configuration and the placement of one operator.
#pragma once

#include "tessera/layout/strategy.hpp"
#include "tessera/machine/cluster.hpp"
#include "tessera/op/mask.hpp"
#include "tessera/search/configurations.hpp"

namespace tessera::search {

/// Numbers that depend on the seed alone, on every machine.
struct random_numbers {
    std::uint64_t state = 1;
    /// In [0, n).
    int operator()(int n) {
        state = op::mix(state);
        return static_cast<int>((state >> 33U) % static_cast<std::uint64_t>(n));
    }
    /// In [0, 1).
    double number() {
        state = op::mix(state);
        return static_cast<double>(state >> 11U) * 0x1.0p-53;
    }
};

/// Which proposals are made.
struct proposal_options {
    configuration_options offered;  ///< sample, attribute, parameter and reduction splits
    bool operator_placement = true; ///< false: shards always lie on devices 0, 1, 2, ...
    bool neighbours = true;         ///< now and then an operator takes over a neighbour's degrees and devices
    std::vector<char> pinned;       ///< operators that keep their configuration, by number; empty: none
    bool memory_limit = true;       ///< only what fits in the devices' memory, as far as it is known
};

struct proposal {
    int op = -1; ///< -1: nothing legal came up
    configuration what;
    std::vector<int> devices;
};

/// Makes random proposals that keep the rules.
class proposer {
public:
    proposer(const cluster& on, const graph_view& g, const proposal_options& o)
        : on_(on), g_(g), options_(o), users_(static_cast<std::size_t>(g.op_count)) {
        if (!o.pinned.empty() && static_cast<int>(o.pinned.size()) != g.op_count) {
            throw error("tessera: " + std::to_string(o.pinned.size()) + " pins were given for " +
                        std::to_string(g.op_count) + " operators; give one for each, or none");
        }
        for (int op = 0; op < g.op_count; ++op) {
            descriptions_.push_back(g.describe(op));
            choices_.push_back(o.pinned.empty() || o.pinned[at(op)] == 0
                                   ? enumerate(descriptions_.back(), on.devices(), o.offered)
                                   : std::vector<configuration>{});
            if (!choices_.back().empty() && (choices_.back().size() > 1 || o.operator_placement)) {
                free_.push_back(op);
            }
            for (int t : g.ops[op].inputs) {
                if (g.tensors[t].producer >= 0) {
                    users_[at(g.tensors[t].producer)].push_back(op);
                }
            }
        }
    }

    /// Operators that may change.
    int operators() const { return static_cast<int>(free_.size()); }
    index_t choices(int op) const { return static_cast<index_t>(choices_[at(op)].size()); }

    proposal next(const strategy& now, random_numbers& pick) const {
        proposal p;
        p.op = free_[at(pick(operators()))];
        if (!options_.neighbours || pick(4) != 0 || !from_neighbour(now, p, pick)) {
            const std::vector<configuration>& mine = choices_[at(p.op)];
            p.what = mine[at(pick(static_cast<int>(mine.size())))];
            place(p, pick);
        }
        if (!is_legal(now, p)) {
            p.op = -1;
        }
        return p;
    }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    /// Half of all placements are aligned blocks, a quarter each strides over the machine and devices at random.
    void place(proposal& p, random_numbers& pick) const {
        const int shards = p.what.shards();
        const int devices = on_.devices();
        p.devices.clear();
        const int how = options_.operator_placement ? pick(4) : -1;
        if (how == 0) {
            std::vector<int> all(at(devices));
            for (int d = 0; d < devices; ++d) {
                all[at(d)] = d;
            }
            for (int i = 0; i < shards; ++i) {
                const int j = i + pick(devices - i);
                std::swap(all[at(i)], all[at(j)]);
                p.devices.push_back(all[at(i)]);
            }
            return;
        }
        const int stride = how == 1 ? devices / shards : 1;
        const int blocks = devices / shards;
        const int start = how < 0 ? 0 : how == 1 ? pick(stride) : pick(blocks) * shards;
        for (int i = 0; i < shards; ++i) {
            p.devices.push_back(start + stride * i);
        }
    }

    /// Takes over the degrees that a neighbour has along loops of the same names, and its devices where the numbers of shards agree.
    bool from_neighbour(const strategy& now, proposal& p, random_numbers& pick) const {
        std::vector<int> others = users_[at(p.op)];
        for (int t : g_.ops[p.op].inputs) {
            if (g_.tensors[t].producer >= 0) {
                others.push_back(g_.tensors[t].producer);
            }
        }
        if (others.empty()) {
            return false;
        }
        const int other = others[at(pick(static_cast<int>(others.size())))];
        const configuration& from = now.ops[at(other)];
        const description& mine = descriptions_[at(p.op)];
        const description& its = descriptions_[at(other)];
        p.what = {};
        for (int l = 0; l < its.loops.size(); ++l) {
            const int k = mine.find_loop(its.loops[l].name);
            if (k < 0 || from.degree[l] == 1 || its.loops[l].name == loop_name::reduction || !splittable(mine, k)) {
                continue;
            }
            p.what.degree[k] = from.degree[l];
            p.what.uneven = p.what.uneven || mine.loops[k].extent % from.degree[l] != 0;
            p.what.reduces = p.what.reduces || role(mine, k) == loop_role::coupled;
        }
        if (!options_.operator_placement || p.what.shards() != from.shards()) {
            if (p.what.shards() > on_.devices()) {
                return false;
            }
            place(p, pick);
            return true;
        }
        p.devices.clear();
        for (int i = 0; i < from.shards(); ++i) {
            p.devices.push_back(shard_at(from, now.pool.data(), its, i).device);
        }
        return true;
    }

    bool is_legal(const strategy& now, const proposal& p) const {
        const configuration& c = p.what;
        const description& d = descriptions_[at(p.op)];
        const strategy_view none{};
        if (tessera::detail::check_degrees(c, none, d, p.op)) {
            return false;
        }
        for (int u : users_[at(p.op)]) { // whoever passes partial sums on relies on their number
            if (now.ops[at(u)].partial > 1 && parts_of_nest(c, d, d.nests.size() - 1) != now.ops[at(u)].partial) {
                return false;
            }
        }
        return true;
    }

    const cluster& on_;
    graph_view g_;
    proposal_options options_;
    std::vector<description> descriptions_;
    std::vector<std::vector<configuration>> choices_;
    std::vector<int> free_;
    std::vector<std::vector<int>> users_;
};

} // namespace tessera::search
