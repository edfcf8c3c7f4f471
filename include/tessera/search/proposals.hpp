// SPDX-License-Identifier: Apache-2.0
// What a local search may change in one step: the configuration and the placement of one operator, or of several that belong together.
#pragma once

#include "tessera/machine/cluster.hpp"
#include "tessera/search/groups.hpp"
#include "tessera/search/proposal_options.hpp"

namespace tessera::search {

/// Makes random proposals that keep the rules.
class proposer {
public:
    proposer(const cluster& on, const graph_view& g, const proposal_options& o)
        : devices_(o.devices > 0 ? o.devices : on.devices()), g_(g), options_(o), groups_(group_operators(g)),
          users_(at(g.op_count)), is_free_(at(g.op_count), 0) {
        if (!o.pinned.empty() && static_cast<int>(o.pinned.size()) != g.op_count) {
            throw error("tessera: " + std::to_string(o.pinned.size()) + " pins were given for " +
                        std::to_string(g.op_count) + " operators; give one for each, or none");
        }
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
        several_ = groups_.kinds.size() < at(g.op_count);
    }

    /// Operators that may change.
    int operators() const { return static_cast<int>(free_.size()); }
    index_t choices(int op) const { return static_cast<index_t>(choices_[at(kind_of(op))].size()); }
    const operator_groups& groups() const { return groups_; }

    /// An eighth of the proposals changes a whole block, an eighth puts several blocks side by side, twice as many each in networks that have operators of one kind (unrolled
    /// ones); a quarter takes over what a neighbour has; the rest changes one operator or, mostly, all of a kind.
    proposal next(const strategy& now, random_numbers& pick) const {
        if (options_.only_blocks) {
            const auto mine = static_cast<std::size_t>(pick(static_cast<int>(groups_.blocks.size())));
            shape_of_one first{representative(mine), {}, {}};
            choose(first, pick);
            proposal p;
            spread(first, groups_.blocks[mine], p);
            return is_legal(now, p) ? p : proposal{};
        }
        proposal p;
        const int how = pick(8);
        if (options_.groups && how < (several_ ? 2 : 1)) {
            change_block(p, pick);
        } else if (options_.groups && options_.operator_placement && (how == 3 || (several_ && how == 2))) {
            side_by_side(p, pick);
        } else {
            const bool of_kind = options_.groups && several_ && pick(4) != 0;
            shape_of_one one{of_kind ? any_of_kind(pick) : free_[at(pick(operators()))], {}, {}};
            if (!options_.neighbours || (how != 4 && how != 5) || !from_neighbour(now, one, pick)) {
                choose(one, pick);
            }
            if (of_kind) {
                for (int other : groups_.kinds[at(kind_of(one.op))]) {
                    add(p, other, one.what, one.devices);
                }
            } else {
                add(p, one.op, one.what, one.devices);
            }
        }
        return is_legal(now, p) ? p : proposal{};
    }

    /// All that a block may change to with only_blocks and only_regular.
    std::vector<proposal> choices_of_block(std::size_t block) const {
        std::vector<proposal> all;
        shape_of_one one{representative(block), {}, {}};
        for (const configuration& c : choices_[at(kind_of(one.op))]) {
            one.what = c;
            const int shards = c.shards();
            const int apart = devices_ / shards;
            for (int i = 0; i < 2 * apart && (i == 0 || options_.operator_placement); ++i) {
                const bool strided = i >= apart;
                regular(one, strided ? i - apart : i * shards, strided ? apart : 1);
                proposal p;
                spread(one, groups_.blocks[block], p);
                if (std::find(all.begin(), all.end(), p) == all.end()) {
                    all.push_back(std::move(p));
                }
            }
        }
        return all;
    }

    /// One configuration for every block, at random: somewhere to start from.
    strategy random_start(const strategy& from, random_numbers& pick) const {
        strategy s = from;
        for (const std::vector<int>& block : groups_.blocks) {
            proposal p;
            shape_of_one one{block[at(pick(static_cast<int>(block.size())))], {}, {}};
            choose(one, pick);
            spread(one, block, p);
            if (is_legal(s, p)) {
                for (const change& x : p) {
                    apply(s, x);
                }
            }
        }
        return s;
    }

private:
    /// A configuration chosen for one operator, and the devices of its shards.
    struct shape_of_one {
        int op = 0;
        configuration what;
        std::vector<int> devices;
    };

    static std::size_t at(int i) { return static_cast<std::size_t>(i); }
    int kind_of(int op) const { return groups_.kind_of[at(op)]; }

    /// An operator of a kind picked at random, so that kinds of many operators come no more often than others.
    int any_of_kind(random_numbers& pick) const {
        while (true) {
            const std::vector<int>& kind = groups_.kinds[at(pick(static_cast<int>(groups_.kinds.size())))];
            const int op = kind[at(pick(static_cast<int>(kind.size())))];
            if (is_free_[at(op)] != 0) {
                return op;
            }
        }
    }
    void add(proposal& p, int op, const configuration& c, const std::vector<int>& devices) const {
        if (is_free_[at(op)] != 0) {
            p.push_back(place_on(op, c, devices));
        }
    }
    void choose(shape_of_one& one, random_numbers& pick) const {
        const std::vector<configuration>& mine = choices_[at(kind_of(one.op))];
        one.what = mine[at(pick(static_cast<int>(mine.size())))];
        place(one, pick);
    }

    /// Half of all placements are aligned blocks, three eighths stride over the machine, the rest are devices at random.
    void place(shape_of_one& one, random_numbers& pick) const {
        const int shards = one.what.shards();
        const int devices = devices_;
        one.devices.clear();
        const int how = options_.operator_placement ? pick(8) : -1;
        if (how == 0 && !options_.only_regular) {
            std::vector<int> all(at(devices));
            for (int d = 0; d < devices; ++d) {
                all[at(d)] = d;
            }
            for (int i = 0; i < shards; ++i) {
                const int j = i + pick(devices - i);
                std::swap(all[at(i)], all[at(j)]);
                one.devices.push_back(all[at(i)]);
            }
            return;
        }
        const int apart = devices / shards;
        const bool strides = how >= 0 && how < 4;
        const int start = how < 0 ? 0 : strides ? pick(apart) : pick(apart) * shards;
        regular(one, start, strides ? apart : 1);
    }
    static void regular(shape_of_one& one, int start, int stride) {
        one.devices.clear();
        for (int i = 0; i < one.what.shards(); ++i) {
            one.devices.push_back(start + stride * i);
        }
    }
    int representative(std::size_t block) const {
        for (int op : groups_.blocks[block]) {
            if (detail::starts_block(g_.ops[op])) {
                return op;
            }
        }
        return groups_.blocks[block][0];
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

    /// Gives the operators of a block what one of them has, each of its shards on the device of the first shard there that has the same place
    /// along the loops that both have.
    void spread(const shape_of_one& one, const std::vector<int>& block, proposal& p) const {
        const description& its = descriptions_[at(one.op)];
        for (int op : block) {
            if (kind_of(op) == kind_of(one.op)) {
                add(p, op, one.what, one.devices);
                continue;
            }
            const description& mine = descriptions_[at(op)];
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
            add(p, op, c, devices);
        }
    }

    /// Mostly as its first layer may be split, so that the rest follows that.
    void change_block(proposal& p, random_numbers& pick) const {
        const std::size_t block = at(pick(static_cast<int>(groups_.blocks.size())));
        const std::vector<int>& all = groups_.blocks[block];
        shape_of_one one{pick(4) == 0 ? all[at(pick(static_cast<int>(all.size())))] : representative(block), {}, {}};
        choose(one, pick);
        spread(one, all, p);
    }

    /// Gives two, four or eight blocks that follow each other, all or those with layers alike, one configuration and equal parts of the devices: they then work at the same time
    /// on different steps or branches, each with larger shards. One by one such changes would have to pass what is worse.
    void side_by_side(proposal& p, random_numbers& pick) const {
        const auto blocks = static_cast<int>(groups_.blocks.size());
        const int begin = pick(blocks);
        const int first = representative(at(begin));
        const bool any = pick(2) == 0;
        int parts = 2 << pick(3);
        std::vector<int> layers;
        for (int b = begin; b < blocks && static_cast<int>(layers.size()) < parts; ++b) {
            const int layer = representative(at(b));
            if (any || g_.ops[layer].attributes == g_.ops[first].attributes) {
                layers.push_back(layer);
            }
        }
        while (parts > static_cast<int>(layers.size()) || parts > devices_) {
            parts /= 2;
        }
        if (parts < 2) {
            return;
        }
        const int samples = descriptions_[at(first)].find_loop(loop_name::sample);
        const bool by_samples = pick(2) == 0 && samples >= 0; // as often as not by samples over all that a block gets
        std::vector<configuration> offered;
        for (const configuration& c : choices_[at(kind_of(first))]) {
            const bool fits = c.shards() * parts <= devices_;
            if (fits && (!by_samples || (c.shards() == c.degree[samples] && c.shards() * parts == devices_))) {
                offered.push_back(c);
            }
        }
        if (offered.empty()) {
            return;
        }
        const configuration chosen = offered[at(pick(static_cast<int>(offered.size())))];
        const bool strided = pick(2) == 0;
        for (int i = 0; i < parts; ++i) {
            shape_of_one one{layers[at(i)], chosen, {}};
            if (i > 0 && kind_of(one.op) != kind_of(first)) {
                one.what = taken_over(chosen, descriptions_[at(first)], descriptions_[at(one.op)]);
            }
            regular(one, strided ? i : i * (devices_ / parts), strided ? devices_ / one.what.shards() : 1);
            spread(one, groups_.blocks[at(groups_.block_of[at(one.op)])], p);
        }
    }

    /// Takes over the degrees that a neighbour has, and its devices where the numbers of shards agree.
    bool from_neighbour(const strategy& now, shape_of_one& one, random_numbers& pick) const {
        std::vector<int> others = users_[at(one.op)];
        for (int t : g_.ops[one.op].inputs) {
            if (g_.tensors[t].producer >= 0) {
                others.push_back(g_.tensors[t].producer);
            }
        }
        if (others.empty()) {
            return false;
        }
        const int other = others[at(pick(static_cast<int>(others.size())))];
        const configuration& from = now.ops[at(other)];
        const description& its = descriptions_[at(other)];
        one.what = taken_over(from, its, descriptions_[at(one.op)]);
        if (!options_.operator_placement || one.what.shards() != from.shards()) {
            if (one.what.shards() > devices_) {
                return false;
            }
            place(one, pick);
            return true;
        }
        one.devices.clear();
        for (int i = 0; i < from.shards(); ++i) {
            one.devices.push_back(shard_at(from, now.pool.data(), its, i).device);
        }
        return true;
    }

    bool is_legal(const strategy& now, const proposal& p) const {
        const strategy_view none{};
        for (const change& x : p) {
            const description& d = descriptions_[at(x.op)];
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

    int devices_;
    graph_view g_;
    proposal_options options_;
    operator_groups groups_;
    std::vector<description> descriptions_;
    std::vector<std::vector<configuration>> choices_; ///< by kind
    std::vector<int> free_;
    std::vector<std::vector<int>> users_;
    std::vector<char> is_free_;
    bool several_ = false; ///< some kind has several operators
};

} // namespace tessera::search
