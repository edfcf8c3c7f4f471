// SPDX-License-Identifier: Apache-2.0
// The configurations and placements that a search chooses from, and how one choice is handed on to the operators that
// belong together.
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
    proposal_space(const graph_view& g, const cluster& on, const proposal_options& o);

    int devices() const { return devices_; }
    /// Operators that may change.
    int operators() const { return static_cast<int>(free_.size()); }
    const operator_groups& groups() const { return groups_; }
    const proposal_options& options() const { return options_; }
    const description& described(int op) const { return descriptions_[to_size(op)]; }
    int kind_of(int op) const { return groups_.kind_of[to_size(op)]; }
    const std::vector<int>& block_of(int op) const { return groups_.blocks[to_size(groups_.block_of[to_size(op)])]; }
    /// All configurations of an operator.
    const std::vector<configuration>& choices(int op) const { return choices_[to_size(kind_of(op))]; }

    /// The first layer of a block.
    int layer_of(std::size_t block) const;
    /// Blocks in falling order of parameters per FLOP: where summing gradients costs most beside the arithmetic.
    const std::vector<std::size_t>& heaviest_first() const { return heaviest_first_; }
    bool same_sort(int op, int other) const { return g_.ops[op].attributes == g_.ops[other].attributes; }
    /// The layers of blocks from one on, in order, at most so many: all, or those of the first one's sort.
    std::vector<int> layers_from(std::size_t block, bool all, std::size_t most) const;
    /// The devices that an operator's shards have, one after the other.
    std::vector<int> devices_of(const strategy& now, int op) const;

    /// A choice for one operator, unless it is pinned.
    void add(proposal& p, const placed_choice& one) const;
    /// The degrees that one operator has along loops of the same names as another's, as far as they can be split; sums
    /// are not.
    configuration taken_over(const configuration& from, const description& its, const description& mine) const;

    /// Gives the operators of a block what one of them gets, each of its shards on the device of the first shard there
    /// that has the same place along the loops that both have.
    void spread(proposal& p, const placed_choice& one) const;

    /// What a layer may be on one of so many parts of the devices: whatever fits there, or by samples over all of it.
    std::vector<configuration> for_part(int layer, int parts, bool by_samples) const;
    /// Puts the blocks of layers on parts of the devices, in turns.
    void deal(proposal& p, const std::vector<int>& layers, int parts, bool strided, const configuration& first) const;

    /// Its shards on devices start, start + stride, and so on.
    static void regular(placed_choice& one, int start, int stride);
    /// Stages and recomputation stay as they are: what is proposed are splits and places.
    static proposal in_stages_of(const strategy& now, proposal p);
    bool has_unequal_devices() const { return !rates_.empty(); }
    /// The same splits and places, with cut points in proportion to the devices' rates where an operator is split along
    /// one loop alone.
    proposal in_proportion(proposal p) const;
    /// Every change keeps the rules, together with what stays.
    bool is_legal(const strategy& now, const proposal& p) const;

protected:
    void order_blocks();

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

#ifndef TESSERA_COMPILED
#include "tessera/search/mcmc/proposal_space.inl"
#endif

#include "tessera/base/end_header.inl"
