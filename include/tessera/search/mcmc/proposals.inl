// SPDX-License-Identifier: Apache-2.0
// Bodies of proposals.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/mcmc/proposals.hpp"

#include <utility>

namespace tessera::search {

TESSERA_INLINE proposal proposer::next(const strategy& now, random_numbers& pick) const {
    if (options_.only_blocks) {
        const auto mine = to_size(pick(static_cast<int>(groups_.blocks.size())));
        placed_choice first{layer_of(mine), {}, {}};
        choose(first, pick);
        proposal p;
        spread(p, first);
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
        placed_choice one{of_kind ? any_of_kind(pick) : free_[to_size(pick(operators()))], {}, {}};
        if (!options_.neighbours || (how != 4 && how != 5) || !from_neighbour(now, one, pick)) {
            choose(one, pick);
        }
        if (of_kind) {
            for (int other : groups_.kinds[to_size(kind_of(one.op))]) {
                add(p, {other, one.what, one.devices});
            }
        } else {
            add(p, one);
        }
    }
    if (!is_legal(now, p)) {
        return {};
    }
    return has_unequal_devices() && pick(2) == 0 ? in_proportion(std::move(p)) : p;
}

TESSERA_INLINE std::vector<proposal> proposer::choices_of_block(std::size_t block) const {
    std::vector<proposal> all;
    placed_choice one{layer_of(block), {}, {}};
    for (const configuration& c : choices(one.op)) {
        one.what = c;
        const int shards = c.shards();
        const int apart = devices_ / shards;
        for (int i = 0; i < 2 * apart && (i == 0 || options_.operator_placement); ++i) {
            const bool strided = i >= apart;
            regular(one, strided ? i - apart : i * shards, strided ? apart : 1);
            proposal p;
            spread(p, one);
            if (std::find(all.begin(), all.end(), p) == all.end()) {
                all.push_back(std::move(p));
            }
        }
    }
    return all;
}

TESSERA_INLINE strategy proposer::random_start(const strategy& from, random_numbers& pick) const {
    strategy s = from;
    for (const std::vector<int>& block : groups_.blocks) {
        proposal p;
        placed_choice one{block[to_size(pick(static_cast<int>(block.size())))], {}, {}};
        choose(one, pick);
        spread(p, one);
        if (is_legal(s, p)) {
            for (const change& x : in_stages_of(from, p)) {
                apply(s, x);
            }
        }
    }
    return s;
}

TESSERA_INLINE int proposer::any_of_kind(random_numbers& pick) const {
    if (pick(2) == 0) {
        const int layer = layer_of(to_size(pick(static_cast<int>(groups_.blocks.size()))));
        if (is_free_[to_size(layer)] != 0) {
            return layer;
        }
    }
    while (true) {
        const std::vector<int>& kind = groups_.kinds[to_size(pick(static_cast<int>(groups_.kinds.size())))];
        const int op = kind[to_size(pick(static_cast<int>(kind.size())))];
        if (is_free_[to_size(op)] != 0) {
            return op;
        }
    }
}

TESSERA_INLINE void proposer::choose(placed_choice& one, random_numbers& pick) const {
    const std::vector<configuration>& mine = choices(one.op);
    one.what = mine[to_size(pick(static_cast<int>(mine.size())))];
    place(one, pick);
}

TESSERA_INLINE void proposer::place(placed_choice& one, random_numbers& pick) const {
    const int shards = one.what.shards();
    const int devices = devices_;
    one.devices.clear();
    const int how = options_.operator_placement ? pick(8) : -1;
    if (how == 0 && !options_.only_regular) {
        std::vector<int> all(to_size(devices));
        for (int d = 0; d < devices; ++d) {
            all[to_size(d)] = d;
        }
        for (int i = 0; i < shards; ++i) {
            const int j = i + pick(devices - i);
            std::swap(all[to_size(i)], all[to_size(j)]);
            one.devices.push_back(all[to_size(i)]);
        }
        return;
    }
    const int apart = devices / shards;
    const bool strides = how >= 0 && how < 4;
    const int start = how < 0 ? 0 : strides ? pick(apart) : pick(apart) * shards;
    regular(one, start, strides ? apart : 1);
}

TESSERA_INLINE void proposer::change_block(proposal& p, random_numbers& pick) const {
    const std::size_t block = to_size(pick(static_cast<int>(groups_.blocks.size())));
    const std::vector<int>& all = groups_.blocks[block];
    placed_choice one{pick(4) == 0 ? all[to_size(pick(static_cast<int>(all.size())))] : layer_of(block), {}, {}};
    choose(one, pick);
    spread(p, one);
}

TESSERA_INLINE void proposer::side_by_side(proposal& p, random_numbers& pick) const {
    const std::size_t begin = to_size(pick(static_cast<int>(groups_.blocks.size())));
    const bool any = pick(2) == 0;
    int parts = 2 << pick(3);
    const bool every = pick(2) == 0;
    std::vector<int> layers = layers_from(begin, any, every ? groups_.blocks.size() : to_size(parts));
    while (parts > static_cast<int>(layers.size()) || parts > devices_) {
        parts /= 2;
    }
    if (parts < 2) {
        return;
    }
    layers.resize(every ? layers.size() : to_size(parts));
    const std::vector<configuration> offered = for_part(layers[0], parts, pick(2) == 0);
    if (offered.empty()) {
        return;
    }
    const configuration& chosen = offered[to_size(pick(static_cast<int>(offered.size())))];
    deal(p, layers, parts, pick(2) == 0, chosen);
}

TESSERA_INLINE bool proposer::from_neighbour(const strategy& now, placed_choice& one, random_numbers& pick) const {
    std::vector<int> others = users_[to_size(one.op)];
    for (int t : g_.ops[one.op].inputs) {
        if (g_.tensors[t].producer >= 0) {
            others.push_back(g_.tensors[t].producer);
        }
    }
    if (others.empty()) {
        return false;
    }
    const int other = others[to_size(pick(static_cast<int>(others.size())))];
    const configuration& from = now.ops[to_size(other)];
    const description& its = described(other);
    one.what = taken_over(from, its, described(one.op));
    if (!options_.operator_placement || one.what.shards() != from.shards()) {
        if (one.what.shards() > devices_) {
            return false;
        }
        place(one, pick);
        return true;
    }
    one.devices = devices_of(now, other);
    return true;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
