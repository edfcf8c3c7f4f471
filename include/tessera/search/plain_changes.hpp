// SPDX-License-Identifier: Apache-2.0
// The few changes of a strategy that help most often, one after the other: what random proposals come upon too rarely where each costs much.
#pragma once

#include "tessera/search/proposal_space.hpp"

#include <numeric>

namespace tessera::search {

/// Plain changes of a strategy: the layers of blocks split along one loop, each with what follows it or, where there is but one of it, alone too; first on the devices that it has,
/// then on all and on those that other blocks' layers have. The space must outlive them.
class plain_changes {
public:
    plain_changes(const proposal_space& space, const strategy& now) : space_(space), now_(now) {
        find_places();
        const operator_groups& groups = space.groups();
        for (std::size_t b = 0; b < groups.blocks.size(); ++b) {
            const int layer = space.layer_of(b);
            const bool single = groups.kinds[static_cast<std::size_t>(space.kind_of(layer))].size() == 1;
            for (const configuration& c : space.choices(layer)) {
                if (*std::max_element(std::begin(c.degree), std::end(c.degree)) != c.shards()) {
                    continue;
                }
                for (std::size_t k = 0; k < places_.size(); ++k) {
                    if (static_cast<std::size_t>(c.shards()) == places_[k].size()) {
                        std::vector<plain>& to = k == own_[b] ? here_ : elsewhere_;
                        to.push_back({layer, k, &c, false});
                        if (single && groups.blocks[b].size() > 1) {
                            to.push_back({layer, k, &c, true});
                        }
                    }
                }
            }
        }
    }

    std::uint64_t size() const { return here_.size() + elsewhere_.size(); }

    /// The one of a number: each comes once, in an order that depends on the seed, before any comes again. Empty if it breaks a rule. There must be some.
    proposal operator()(std::uint64_t number, std::uint64_t seed) const {
        const std::uint64_t place = number % size();
        const bool stays = place < here_.size();
        const std::vector<plain>& from = stays ? here_ : elsewhere_;
        const plain& x = from[shuffled(place - (stays ? 0 : here_.size()), from.size(), seed + number / size())];
        const placed_choice one{x.layer, *x.what, places_[x.place]};
        proposal p;
        x.alone ? space_.add(p, one) : space_.spread(p, one);
        return space_.is_legal(now_, p) ? p : proposal{};
    }

private:
    struct plain {
        int layer;
        std::size_t place;
        const configuration* what;
        bool alone; ///< what follows it stays as it is
    };

    void find_places() {
        places_.emplace_back(static_cast<std::size_t>(space_.devices()));
        std::iota(places_[0].begin(), places_[0].end(), 0);
        for (std::size_t b = 0; b < space_.groups().blocks.size(); ++b) {
            const bool placed = space_.options().operator_placement;
            std::vector<int> mine = placed ? space_.devices_of(now_, space_.layer_of(b)) : places_[0];
            std::sort(mine.begin(), mine.end());
            const auto known = std::find(places_.begin(), places_.end(), mine);
            own_.push_back(static_cast<std::size_t>(known - places_.begin()));
            if (known == places_.end()) {
                places_.push_back(std::move(mine));
            }
        }
    }
    /// The i-th of n numbers.
    static std::uint64_t shuffled(std::uint64_t i, std::uint64_t n, std::uint64_t seed) {
        const std::uint64_t mixed = op::mix(seed);
        std::uint64_t step = mixed % n;
        while (std::gcd(step, n) != 1) {
            ++step;
        }
        return (mixed / n % n + i * step) % n;
    }

    const proposal_space& space_;
    const strategy& now_;
    std::vector<std::vector<int>> places_; ///< sets of devices: all, and those that blocks' layers have
    std::vector<std::size_t> own_;         ///< by block: which of them its layer has
    std::vector<plain> here_;
    std::vector<plain> elsewhere_;
};

} // namespace tessera::search
