// SPDX-License-Identifier: Apache-2.0
// Bodies of plain_changes.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/mcmc/plain_changes.hpp"

namespace tessera::search {

TESSERA_INLINE plain_changes::plain_changes(const proposal_space& space, const strategy& now)
    : space_(space), now_(now) {
    find_places();
    for (const std::size_t block : space.heaviest_first()) {
        std::array<std::vector<plain>, 3> found;
        const int layer = space.layer_of(block);
        const operator_groups& groups = space.groups();
        const bool several = groups.kinds[to_size(space.kind_of(layer))].size() > 1;
        const bool alone_too = !several && groups.blocks[block].size() > 1;
        const auto add = [&](std::vector<plain>& to, const configuration& c, int place) {
            to.push_back({layer, place, &c, false});
            if (alone_too) {
                to.push_back({layer, place, &c, true});
            }
        };
        for (const configuration& c : space.choices(layer)) {
            if (*std::max_element(std::begin(c.degree), std::end(c.degree)) != c.shards()) {
                continue;
            }
            for (std::size_t k = 0; k < places_.size(); ++k) {
                if (to_size(c.shards()) == places_[k].size()) {
                    add(found[k == own_[block] ? 0 : 1], c, static_cast<int>(k));
                }
            }
            if (space.options().operator_placement && 2 * c.shards() <= space.devices() &&
                space.devices() % c.shards() == 0) {
                add(found[2], c, neighbours);
            }
        }
        for (const std::vector<plain>& those : found) {
            all_.insert(all_.end(), those.begin(), those.end());
            ends_.push_back(all_.size());
        }
    }
}

TESSERA_INLINE proposal plain_changes::operator()(std::uint64_t number, std::uint64_t seed) const {
    const std::uint64_t pass = seed + number / size();
    const std::uint64_t place = number % size();
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), place);
    const std::uint64_t begin = end == ends_.begin() ? 0 : end[-1];
    const plain& x = all_[begin + shuffled(place - begin, *end - begin, pass)];
    placed_choice one{x.layer, *x.what, {}};
    if (x.place == neighbours) {
        const int shards = x.what->shards();
        const auto sets = static_cast<std::uint64_t>(space_.devices() / shards);
        proposal_space::regular(one, static_cast<int>(op::mix(pass) % sets) * shards, 1);
        if (std::find(places_.begin(), places_.end(), one.devices) != places_.end()) {
            return {}; // that came before
        }
    } else {
        one.devices = places_[to_size(x.place)];
    }
    proposal p;
    x.alone ? space_.add(p, one) : space_.spread(p, one);
    return space_.is_legal(now_, p) ? p : proposal{};
}

TESSERA_INLINE void plain_changes::find_places() {
    places_.emplace_back(to_size(space_.devices()));
    std::iota(places_[0].begin(), places_[0].end(), 0);
    for (std::size_t b = 0; b < space_.groups().blocks.size(); ++b) {
        const bool placed = space_.options().operator_placement;
        std::vector<int> mine = placed ? space_.devices_of(now_, space_.layer_of(b)) : places_[0];
        std::sort(mine.begin(), mine.end());
        const auto known = std::find(places_.begin(), places_.end(), mine);
        own_.push_back(to_size(known - places_.begin()));
        if (known == places_.end()) {
            places_.push_back(std::move(mine));
        }
    }
}

TESSERA_INLINE std::uint64_t plain_changes::shuffled(std::uint64_t i, std::uint64_t n, std::uint64_t seed) {
    const std::uint64_t mixed = op::mix(seed);
    std::uint64_t step = mixed % n;
    while (std::gcd(step, n) != 1) {
        ++step;
    }
    return (mixed / n % n + i * step) % n;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
