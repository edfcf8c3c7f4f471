// SPDX-License-Identifier: Apache-2.0
// What a local search may change in one step, at random: the configuration and the placement of one operator, or of
// several that belong together.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/mcmc/proposal_space.hpp"

namespace tessera::search {

/// Makes random proposals that keep the rules.
class proposer : public proposal_space {
public:
    proposer(const graph_view& g, const cluster& on, const proposal_options& o)
        : proposal_space(g, on, o), several_(groups_.kinds.size() < to_size(g.op_count)) {}

    /// An eighth of the proposals changes a whole block, an eighth puts several blocks side by side, twice as many each
    /// in networks that have operators of one kind (unrolled ones); a quarter takes over what a neighbour has; the rest
    /// changes one operator or, mostly, all of a kind. Where devices are unequal, half of what is proposed has cut
    /// points in proportion to their rates.
    proposal next(const strategy& now, random_numbers& pick) const;

    /// All that a block may change to with only_blocks and only_regular.
    std::vector<proposal> choices_of_block(std::size_t block) const;

    /// One configuration for every block, at random: somewhere to start from.
    strategy random_start(const strategy& from, random_numbers& pick) const;

private:
    /// An operator of a kind picked at random, so that kinds of many operators come no more often than others; as often
    /// as not a layer that begins a block.
    int any_of_kind(random_numbers& pick) const;
    void choose(placed_choice& one, random_numbers& pick) const;

    /// Half of all placements are aligned blocks, three eighths stride over the machine, the rest are devices at
    /// random.
    void place(placed_choice& one, random_numbers& pick) const;
    /// Mostly as its first layer may be split, so that the rest follows that.
    void change_block(proposal& p, random_numbers& pick) const;

    /// Gives two, four or eight blocks that follow each other, or all, in turns, one configuration and equal parts of
    /// the devices: they then work at the same time on different steps or branches, each with larger shards. One by one
    /// such changes would have to pass what is worse.
    void side_by_side(proposal& p, random_numbers& pick) const;
    /// Takes over the degrees that a neighbour has, and its devices where the numbers of shards agree.
    bool from_neighbour(const strategy& now, placed_choice& one, random_numbers& pick) const;

    bool several_; ///< some kind has several operators
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/mcmc/proposals.inl"
#endif

#include "tessera/base/end_header.inl"
