// SPDX-License-Identifier: Apache-2.0
// The few changes of a strategy that help most often, one after the other: what random proposals come upon too rarely where each costs much.
#pragma once

#include "tessera/search/proposal_space.hpp"

#include <numeric>

namespace tessera::search {

namespace detail {

/// A block's layer split along one loop, on one of several sets of devices.
struct plain_change {
    int layer;
    std::size_t place;
    const configuration* what;
    bool alone; ///< what follows it stays as it is
};

/// Sets of devices that a layer may move to: all, and those that blocks' layers have.
struct plain_places {
    std::vector<std::vector<int>> sets;
    std::vector<std::size_t> own; ///< by block: which of them its layer has
};

inline plain_places places_of(const proposal_space& space, const strategy& now) {
    plain_places p;
    p.sets.emplace_back(static_cast<std::size_t>(space.devices()));
    std::iota(p.sets[0].begin(), p.sets[0].end(), 0);
    for (std::size_t b = 0; b < space.groups().blocks.size(); ++b) {
        std::vector<int> mine =
            space.options().operator_placement ? space.devices_of(now, space.layer_of(b)) : p.sets[0];
        std::sort(mine.begin(), mine.end());
        const auto known = std::find(p.sets.begin(), p.sets.end(), mine);
        p.own.push_back(static_cast<std::size_t>(known - p.sets.begin()));
        if (known == p.sets.end()) {
            p.sets.push_back(std::move(mine));
        }
    }
    return p;
}

/// The i-th of n numbers, each once, in an order that depends on the seed.
inline std::uint64_t shuffled(std::uint64_t i, std::uint64_t n, std::uint64_t seed) {
    const std::uint64_t mixed = op::mix(seed);
    std::uint64_t step = mixed % n;
    while (std::gcd(step, n) != 1) {
        ++step;
    }
    return (mixed / n % n + i * step) % n;
}

} // namespace detail

/// Plain changes are the layers of blocks split along one loop, each with what follows it or, where there is but one of it, alone too: first on the devices that it has, then on
/// all, and on those that other blocks' layers have. This is the one of a number; while the strategy stays, each comes once, in an order that depends on the seed, before any
/// comes again. Empty if it breaks a rule.
inline proposal plain_change(const proposal_space& space, const strategy& now, std::uint64_t number,
                             std::uint64_t seed) {
    const detail::plain_places places = detail::places_of(space, now);
    const operator_groups& groups = space.groups();
    std::vector<detail::plain_change> here;
    std::vector<detail::plain_change> elsewhere;
    for (std::size_t b = 0; b < groups.blocks.size(); ++b) {
        const int layer = space.layer_of(b);
        const bool single = groups.kinds[static_cast<std::size_t>(space.kind_of(layer))].size() == 1;
        for (const configuration& c : space.choices(layer)) {
            if (*std::max_element(std::begin(c.degree), std::end(c.degree)) != c.shards()) {
                continue;
            }
            for (std::size_t k = 0; k < places.sets.size(); ++k) {
                if (static_cast<std::size_t>(c.shards()) == places.sets[k].size()) {
                    std::vector<detail::plain_change>& to = k == places.own[b] ? here : elsewhere;
                    to.push_back({layer, k, &c, false});
                    if (single && groups.blocks[b].size() > 1) {
                        to.push_back({layer, k, &c, true});
                    }
                }
            }
        }
    }
    const std::uint64_t all = here.size() + elsewhere.size();
    if (all == 0) {
        return {};
    }
    const bool stays = number % all < here.size();
    const std::vector<detail::plain_change>& from = stays ? here : elsewhere;
    const std::uint64_t which = number % all - (stays ? 0 : here.size());
    const detail::plain_change& x = from[detail::shuffled(which, from.size(), seed + number / all)];
    const placed_choice one{x.layer, *x.what, places.sets[x.place]};
    proposal p;
    x.alone ? space.add(p, one) : space.spread(p, one);
    return space.is_legal(now, p) ? p : proposal{};
}

} // namespace tessera::search
