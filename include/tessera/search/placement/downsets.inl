// SPDX-License-Identifier: Apache-2.0
// Bodies of downsets.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/downsets.hpp"

namespace tessera::search::placement {

TESSERA_INLINE downsets::downsets(int nodes, const std::vector<std::pair<int, int>>& edges, std::size_t most)
    : nodes_(nodes), words_(to_size(nodes + 63) / 64) {
    words_ = std::max<std::size_t>(words_, 1);
    std::vector<std::uint64_t> before(words_ * to_size(nodes), 0);
    for (const auto& [from, to] : edges) {
        before[words_ * to_size(to) + to_size(from) / 64] |= bit(from);
    }
    table_.assign(1024, -1);
    std::vector<std::uint64_t> set(words_, 0);
    find_or_add(set);
    for (std::size_t i = 0; i < count(); ++i) {
        for (int v = 0; v < nodes; ++v) {
            if (contains(static_cast<int>(i), v) || !has_all(i, &before[words_ * to_size(v)])) {
                continue;
            }
            set.assign(at(i), at(i) + words_);
            set[to_size(v) / 64] |= bit(v);
            const int bigger = find_or_add(set);
            links_.push_back({bigger, {v, static_cast<int>(i)}});
        }
        if (count() > most) {
            return;
        }
    }
    finish();
}

TESSERA_INLINE downsets::downsets(const std::vector<int>& order)
    : nodes_(static_cast<int>(order.size())), words_(std::max<std::size_t>((order.size() + 63) / 64, 1)) {
    std::vector<std::uint64_t> set(words_, 0);
    bits_ = set;
    for (std::size_t i = 0; i < order.size(); ++i) {
        set[to_size(order[i]) / 64] |= bit(order[i]);
        bits_.insert(bits_.end(), set.begin(), set.end());
        links_.push_back({static_cast<int>(i) + 1, {order[i], static_cast<int>(i)}});
    }
    finish();
}

TESSERA_INLINE bool downsets::complete() const { return complete_; }

TESSERA_INLINE void downsets::finish() {
    complete_ = true;
    first_below_.assign(count() + 1, 0);
    for (const auto& link : links_) {
        ++first_below_[to_size(link.first) + 1];
    }
    for (std::size_t i = 0; i < count(); ++i) {
        first_below_[i + 1] += first_below_[i];
    }
    below_.resize(links_.size());
    std::vector<std::size_t> next(first_below_.begin(), first_below_.end());
    for (const auto& link : links_) {
        below_[next[to_size(link.first)]++] = link.second;
    }
    links_ = {};
    table_ = {};
}

TESSERA_INLINE bool downsets::has_all(std::size_t i, const std::uint64_t* wanted) const {
    for (std::size_t w = 0; w < words_; ++w) {
        if ((wanted[w] & ~at(i)[w]) != 0) {
            return false;
        }
    }
    return true;
}

TESSERA_INLINE std::size_t downsets::place_of(const std::uint64_t* set) const {
    std::uint64_t h = 1;
    for (std::size_t w = 0; w < words_; ++w) {
        h = op::mix(h ^ set[w]);
    }
    std::size_t place = h & (table_.size() - 1);
    while (table_[place] >= 0 && !std::equal(set, set + words_, at(to_size(table_[place])))) {
        place = (place + 1) & (table_.size() - 1);
    }
    return place;
}

TESSERA_INLINE int downsets::find_or_add(const std::vector<std::uint64_t>& set) {
    std::size_t place = place_of(set.data());
    if (table_[place] >= 0) {
        return table_[place];
    }
    const int number = static_cast<int>(count());
    bits_.insert(bits_.end(), set.begin(), set.end());
    table_[place] = number;
    if (2 * count() > table_.size()) {
        table_.assign(2 * table_.size(), -1);
        for (std::size_t i = 0; i < count(); ++i) {
            table_[place_of(at(i))] = static_cast<int>(i);
        }
    }
    return number;
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
