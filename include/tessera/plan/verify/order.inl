// SPDX-License-Identifier: Apache-2.0
// Bodies of verifier.hpp: checks of order: no deadlock, no race, nothing read before it is written, no memory used
// twice at a time.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/verify/verifier.hpp"

#include <algorithm>

namespace tessera::detail {

/// Runs the lists with their waits; what happens before what is kept as a vector clock for races().
TESSERA_INLINE bool verifier::deadlock() {
    const std::size_t lists = p_.order.size();
    clock_.assign(p_.tasks.size() * lists, 0);
    number_queued();
    std::vector<std::size_t> next(lists, 0); // of a queue: how many have finished
    bool moved = true;
    while (moved) {
        moved = false;
        for (std::size_t l = 0; l < lists; ++l) {
            if (p_.is_queue(static_cast<int>(l))) {
                while (advance_queue(l, next)) {
                    ++next[l];
                    moved = true;
                }
                continue;
            }
            while (next[l] < p_.order[l].size() && ready(p_.order[l][next[l]], next)) {
                advance(l, next[l]);
                ++next[l];
                moved = true;
            }
        }
    }
    for (std::size_t l = 0; l < lists; ++l) {
        if (next[l] < p_.order[l].size()) {
            return refuse(&p_.tasks[to_size(p_.order[l][next[l]])],
                          "a deadlock: the task waits for itself through others");
        }
    }
    return true;
}

/// The set of finished tasks in queues is empty so far.
TESSERA_INLINE void verifier::number_queued() {
    queued_.assign(p_.tasks.size(), -1);
    int count = 0;
    for (std::size_t i = 0; i < p_.tasks.size(); ++i) {
        queued_[i] = p_.is_queued(static_cast<int>(i)) ? count++ : -1;
    }
    words_ = (to_size(count) + 63) / 64;
    known_.assign(p_.tasks.size() * words_, 0);
}

TESSERA_INLINE bool verifier::knows(int t, int queued) const {
    const std::size_t bit = to_size(queued_[to_size(queued)]);
    return (known_[to_size(t) * words_ + bit / 64] >> (bit % 64) & 1U) != 0;
}

/// Finishes a task of a queue that can run, whichever; false if there is none.
TESSERA_INLINE bool verifier::advance_queue(std::size_t l, const std::vector<std::size_t>& next) {
    for (std::size_t i = 0; i < p_.order[l].size(); ++i) {
        const int t = p_.order[l][i];
        if (!knows(t, t) && ready(t, next)) {
            advance(l, i);
            return true;
        }
    }
    return false;
}

TESSERA_INLINE bool verifier::ready(int t, const std::vector<std::size_t>& next) const {
    for (const int a : p_.tasks[to_size(t)].after) {
        if (!knows(a, a)) {
            return false;
        }
    }
    for (const wait_for& w : p_.tasks[to_size(t)].waits) {
        if (w.list < 0 || to_size(w.list) >= next.size() || p_.is_queue(w.list) ||
            next[to_size(w.list)] < to_size(w.count)) {
            return false;
        }
    }
    return true;
}

TESSERA_INLINE void verifier::advance(std::size_t l, std::size_t position) {
    const std::size_t lists = p_.order.size();
    const int t = p_.order[l][position];
    int* mine = clock_.data() + to_size(t) * lists;
    const auto join = [&](int other) {
        const int* theirs = clock_.data() + to_size(other) * lists;
        for (std::size_t k = 0; k < lists; ++k) {
            mine[k] = std::max(mine[k], theirs[k]);
        }
        for (std::size_t k = 0; k < words_; ++k) {
            known_[to_size(t) * words_ + k] |= known_[to_size(other) * words_ + k];
        }
    };
    const bool queued = queued_[to_size(t)] >= 0;
    if (position > 0 && !queued) {
        join(p_.order[l][position - 1]);
    }
    for (const int a : p_.tasks[to_size(t)].after) {
        join(a);
    }
    for (const wait_for& w : p_.tasks[to_size(t)].waits) {
        if (w.count > 0) {
            join(p_.order[to_size(w.list)][to_size(w.count - 1)]);
        }
    }
    if (queued) {
        known_[to_size(t) * words_ + to_size(queued_[to_size(t)]) / 64] |= std::uint64_t{1}
                                                                           << (to_size(queued_[to_size(t)]) % 64);
        return;
    }
    mine[l] = static_cast<int>(position) + 1; // counts the task itself: what follows it knows it is finished
}

TESSERA_INLINE bool verifier::before(int a, int b) const {
    const task& first = p_.tasks[to_size(a)];
    if (queued_[to_size(a)] >= 0) {
        return a != b && knows(b, a);
    }
    return clock_[to_size(b) * p_.order.size() + to_size(p_.list_of(first))] > first.position && a != b;
}

/// No two tasks touch one element, one of them writing, unless one is known to come first; nothing is read before it is
/// written, and as a whole.
TESSERA_INLINE bool verifier::races() {
    std::vector<std::vector<std::pair<int, access>>> all(p_.tiles.size());
    std::vector<access> own;
    for (int i = 0; i < static_cast<int>(p_.tasks.size()); ++i) {
        accesses_of(p_, p_.tasks[to_size(i)], own);
        for (const access& a : own) {
            all[to_size(a.tile)].push_back({i, a});
        }
    }
    for (std::size_t t = 0; t < all.size(); ++t) {
        const tile& x = p_.tiles[t];
        for (std::size_t i = 0; i < all[t].size(); ++i) {
            const auto& [ti, ai] = all[t][i];
            for (std::size_t j = 0; j < i; ++j) {
                const auto& [tj, aj] = all[t][j];
                if (ti == tj || !conflict(ai, aj)) {
                    continue;
                }
                if (!before(tj, ti)) {
                    return refuse(&p_.tasks[to_size(ti)],
                                  !before(ti, tj) ? "a race: another task touches the same tile and "
                                                    "neither is first"
                                  : ai.write      ? "a task writes what others are to read before it"
                                                  : "a task reads a tile that nothing has written yet");
                }
                if (ai.write && aj.write && !is_persistent(x.kind) && !is_count(x) && !reads_too(all[t], ti)) {
                    return refuse(&p_.tasks[to_size(ti)], "a task overwrites what another has written");
                }
            }
            if (ai.write || x.device < 0 || is_persistent(x.kind)) {
                continue;
            }
            if (!is_written_before(all[t], i)) {
                return refuse(&p_.tasks[to_size(ti)], "a task reads a tile that nothing has written yet");
            }
            if (!is_complete(all[t], i)) {
                return refuse(&p_.tasks[to_size(ti)], "a task reads a tile to which something is added later");
            }
        }
    }
    for (std::size_t t = 0; t < all.size(); ++t) {
        index_t written = 0;
        for (const auto& [i, a] : all[t]) {
            written += a.write ? a.elements.size() : 0;
        }
        if (p_.tiles[t].keep && p_.tiles[t].alias < 0 && p_.tiles[t].device >= 0 && written < p_.tiles[t].elements) {
            return refuse(nullptr, "a result on device " + std::to_string(p_.tiles[t].device) + " is never produced");
        }
    }
    history_ = std::move(all);
    return true;
}

/// True for a task that adds to a tile, or works in its place.
TESSERA_INLINE bool verifier::reads_too(const std::vector<std::pair<int, access>>& all, int t) const {
    for (const auto& [other, a] : all) {
        if (other == t && !a.write) {
            return true;
        }
    }
    return false;
}

TESSERA_INLINE bool verifier::is_written_before(const std::vector<std::pair<int, access>>& all,
                                                std::size_t reader) const {
    index_t covered = 0;
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (k != reader && all[k].second.write && before(all[k].first, all[reader].first)) {
            covered += intersect(all[k].second.elements, all[reader].second.elements).size();
        }
    }
    return covered >= all[reader].second.elements.size();
}

/// What one task reads no later one writes, unless the reader adds to it itself.
TESSERA_INLINE bool verifier::is_complete(const std::vector<std::pair<int, access>>& all, std::size_t reader) const {
    const auto& [task, read] = all[reader];
    bool later = false;
    for (const auto& [other, a] : all) {
        if (a.write && !intersect(a.elements, read.elements).empty()) {
            if (other == task) {
                return true;
            }
            later = later || before(task, other);
        }
    }
    return !later;
}

/// Tiles that share memory are never alive together, and everything that touches the earlier one comes first.
TESSERA_INLINE bool verifier::arena() {
    std::vector<char> late(p_.tiles.size()); // touched from a queue: the next run may find it in use
    std::transform(history_.begin(), history_.end(), late.begin(), [this](const auto& touches) {
        return std::any_of(touches.begin(), touches.end(),
                           [this](const auto& x) { return queued_[to_size(x.first)] >= 0; });
    });
    note_spans();
    std::vector<int> tiles; // by device and arena, then by place
    for (std::size_t a = 0; a < p_.tiles.size(); ++a) {
        const bool kept = is_persistent(p_.tiles[a].kind); // also what this plan does not touch
        if (p_.tiles[a].alias >= 0 || (history_[a].empty() && !kept) || p_.tiles[a].device < 0) {
            continue;
        }
        if (p_.tiles[a].offset < 0) {
            return refuse(first_user_of(a), "a task touches a tile that has no memory");
        }
        tiles.push_back(static_cast<int>(a));
    }
    const auto arena_at = [this](int t) { return arena_number(p_.tiles[to_size(t)]); };
    std::sort(tiles.begin(), tiles.end(), [&](int a, int b) {
        const index_t x = p_.tiles[to_size(a)].offset;
        const index_t y = p_.tiles[to_size(b)].offset;
        return arena_at(a) != arena_at(b) ? arena_at(a) < arena_at(b) : x != y ? x < y : a < b;
    });
    int refused = -1; // the first tile that shares memory with an earlier one while both are alive
    for (std::size_t i = 0; i < tiles.size(); ++i) {
        const tile& x = p_.tiles[to_size(tiles[i])];
        for (std::size_t j = i + 1; j < tiles.size() && arena_at(tiles[j]) == arena_at(tiles[i]) &&
                                    p_.tiles[to_size(tiles[j])].offset < x.offset + x.bytes;
             ++j) {
            const tile& y = p_.tiles[to_size(tiles[j])];
            const int later = std::max(tiles[i], tiles[j]);
            if (x.offset < y.offset + y.bytes && (refused < 0 || later < refused) &&
                (is_persistent(x.kind) || late[to_size(tiles[i])] != 0 || late[to_size(tiles[j])] != 0 ||
                 (!all_before(to_size(tiles[i]), to_size(tiles[j])) && //
                  !all_before(to_size(tiles[j]), to_size(tiles[i]))))) {
                refused = later;
            }
        }
    }
    if (refused >= 0) {
        return refuse(first_user_of(to_size(refused)), "two tiles that share memory are alive together");
    }
    for (const int i : tiles) {
        if (!has_place(p_.tiles[to_size(i)])) {
            return refuse(first_user_of(to_size(i)), "a tile lies outside its device's memory");
        }
    }
    return true;
}

/// The first task that touches a tile, or null.
TESSERA_INLINE const task* verifier::first_user_of(std::size_t tile) const {
    return history_[tile].empty() ? nullptr : &p_.tasks[to_size(history_[tile][0].first)];
}

TESSERA_INLINE bool verifier::has_place(const tile& x) const {
    const index_t all = arena_size(p_, x);
    return x.offset % arena_alignment == 0 && x.offset <= all && x.bytes <= all - x.offset;
}

TESSERA_INLINE void verifier::note_spans() {
    spans_.assign(p_.tiles.size(), {});
    for (std::size_t tile = 0; tile < history_.size(); ++tile) {
        span& x = spans_[tile];
        for (const auto& [t, a] : history_[tile]) {
            const task& one = p_.tasks[to_size(t)];
            x.is_known = (x.first < 0 || (x.is_known && p_.list_of(one) == p_.list_of(p_.tasks[to_size(x.first)]))) &&
                         queued_[to_size(t)] < 0;
            x.first = x.first < 0 || one.position < p_.tasks[to_size(x.first)].position ? t : x.first;
            x.last = x.last < 0 || one.position > p_.tasks[to_size(x.last)].position ? t : x.last;
        }
    }
}

TESSERA_INLINE bool verifier::all_before(std::size_t a, std::size_t b) const {
    if (p_.tiles[a].keep) {
        return false;
    }
    if (spans_[a].is_known && spans_[b].is_known) { // what follows in a list knows what its tasks before know
        return before(spans_[a].last, spans_[b].first);
    }
    for (const auto& [ta, xa] : history_[a]) {
        for (const auto& [tb, xb] : history_[b]) {
            if (!before(ta, tb)) {
                return false;
            }
        }
    }
    return true;
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
