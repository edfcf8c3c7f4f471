// SPDX-License-Identifier: Apache-2.0
// The few changes of a strategy that help most often, one after the other: what random proposals come upon too rarely
// where each costs much.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/mcmc/proposal_space.hpp"

#include <array>
#include <numeric>

namespace tessera::search {

/// Plain changes of a strategy: the layer of a block split along one loop, with what follows it or, where there is but
/// one of it, alone too. Blocks come in falling order of parameters per FLOP (proposal_space::heaviest_first); each
/// first on the devices that it has, then on all and on those that other blocks' layers have, then on neighbours that
/// nobody has: one aligned set for every number of shards that divides the devices. The space must outlive them.
class plain_changes {
public:
    plain_changes(const proposal_space& space, const strategy& now);

    std::uint64_t size() const { return all_.size(); }

    /// The one of a number: each comes once before any comes again, those of one block and stage in an order that
    /// depends on the seed, as do the neighbours. Empty if it breaks a rule. There must be some.
    proposal operator()(std::uint64_t number, std::uint64_t seed) const;

private:
    static constexpr int neighbours = -1;

    struct plain {
        int layer;
        int place; ///< of places_, or neighbours
        const configuration* what;
        bool alone; ///< what follows it stays as it is
    };

    void find_places();
    /// The i-th of n numbers.
    static std::uint64_t shuffled(std::uint64_t i, std::uint64_t n, std::uint64_t seed);

    const proposal_space& space_;
    const strategy& now_;
    std::vector<std::vector<int>> places_; ///< sets of devices: all, and those that blocks' layers have
    std::vector<std::size_t> own_;         ///< by block: which of them its layer has
    std::vector<plain> all_;
    std::vector<std::size_t> ends_; ///< in all_: of every block's three stages
};

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/mcmc/plain_changes.inl"
#endif

#include "tessera/base/end_header.inl"
