// SPDX-License-Identifier: Apache-2.0
// Bodies of memory.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/memory.hpp"

namespace tessera::detail {

TESSERA_INLINE std::vector<lifetime> lifetimes(const plan& p) {
    std::vector<lifetime> live(p.tiles.size());
    std::vector<access> touched;
    for (int i = 0; i < static_cast<int>(p.tasks.size()); ++i) {
        accesses_of(p, p.tasks[to_size(i)], touched);
        for (const access& a : touched) {
            lifetime& l = live[to_size(a.tile)];
            l.first = l.first < 0 ? i : l.first;
            l.last = i;
        }
    }
    for (int i = 0; i < static_cast<int>(p.tasks.size()); ++i) { // in a queue it may be done late, and in the next run
        if (p.is_queued(i)) {
            accesses_of(p, p.tasks[to_size(i)], touched);
            for (const access& a : touched) {
                live[to_size(a.tile)] = {0, static_cast<int>(p.tasks.size())};
            }
        }
    }
    for (std::size_t t = 0; t < p.tiles.size(); ++t) {
        if (p.tiles[t].keep) {
            live[to_size(p.root(static_cast<int>(t)))].last = static_cast<int>(p.tasks.size());
        }
    }
    return live;
}

TESSERA_INLINE std::vector<lifetime> kept_for_side_streams(const plan& p, std::vector<lifetime> live) {
    std::vector<access> touched;
    for (const task& t : p.tasks) {
        const bool counts = t.kind() == task_kind::copy && p.tiles[to_size(t.writes[0])].kind == tile_kind::scalar;
        if (t.side_stream && (t.kind() == task_kind::update || t.kind() == task_kind::reduce || counts)) {
            accesses_of(p, t, touched);
            for (const access& a : touched) {
                const bool scratch = p.tiles[to_size(a.tile)].kind == tile_kind::scratch;
                lifetime& l = live[to_size(a.tile)];
                l.last = scratch ? l.last : static_cast<int>(p.tasks.size());
            }
        }
    }
    return live;
}

TESSERA_INLINE all_blocks blocks_of(const plan& p, const std::vector<lifetime>& live) {
    all_blocks all{{}, std::vector<std::vector<block>>(2 * to_size(p.devices))};
    std::vector<char> taken(p.tiles.size(), 0);
    const auto tile_at = [&](int i) -> const tile& { return p.tiles[to_size(i)]; };
    const auto life = [&](int i) { return live[to_size(i)]; };
    const auto add = [&](int i, bool opens) {
        std::vector<block>& blocks = all.by_arena[to_size(tile_at(i).device + (tile_at(i).on_host ? p.devices : 0))];
        if (opens) {
            blocks.push_back({static_cast<int>(all.tiles.size()), 0, 0});
        }
        block& b = blocks.back();
        b.bytes = align(b.bytes, p.alignment) + tile_at(i).bytes;
        ++b.count;
        all.tiles.push_back(i);
        taken[to_size(i)] = 1;
    };
    const auto is_due = [&](int i) {
        const tile& t = tile_at(i);
        return t.alias < 0 && t.device >= 0 && !is_persistent(t.kind) && life(i).first >= 0 && taken[to_size(i)] == 0;
    };
    std::vector<int> sums;
    for (const task& t : p.tasks) {
        if (t.params().parts.empty()) {
            continue;
        }
        sums.clear();
        for (const int w : t.writes) {
            if (tile_at(w).kind == tile_kind::parameter_gradient && is_due(w)) {
                sums.push_back(w);
            }
        }
        const auto together = [&](int i) { return std::array<int, 3>{tile_at(i).device, life(i).first, life(i).last}; };
        std::sort(sums.begin(), sums.end(), [&](int a, int b) {
            const auto x = together(a);
            const auto y = together(b);
            return x < y || (x == y && (tile_at(a).tensor < tile_at(b).tensor ||
                                        (tile_at(a).tensor == tile_at(b).tensor && a < b)));
        });
        for (std::size_t i = 0; i < sums.size(); ++i) {
            add(sums[i], i == 0 || together(sums[i]) != together(sums[i - 1]));
        }
    }
    for (int i = 0; i < static_cast<int>(p.tiles.size()); ++i) {
        if (is_due(i)) {
            add(i, true);
        }
    }
    return all;
}

TESSERA_INLINE void place_tiles(plan& p, const std::vector<lifetime>& live) {
    std::vector<index_t> peak(2 * to_size(p.devices), 0);
    all_blocks all = blocks_of(p, live);
    for (std::size_t d = 0; d < all.by_arena.size(); ++d) {
        std::vector<block>& blocks = all.by_arena[d];
        std::sort(blocks.begin(), blocks.end(), [&](const block& a, const block& b) {
            const auto first = [&](const block& x) { return all.tiles[to_size(x.first)]; };
            return a.bytes != b.bytes ? a.bytes > b.bytes : first(a) < first(b);
        });
        std::vector<placed_tile> placed; // by offset
        for (const block& b : blocks) {
            const int* const tiles = all.tiles.data() + b.first;
            const lifetime& mine = live[to_size(tiles[0])];
            const index_t size = align(b.bytes, p.alignment);
            index_t where = 0;
            for (const placed_tile& o : placed) {
                if (mine.first > o.live.last || o.live.first > mine.last) {
                    continue;
                }
                if (where + size <= o.taken.begin) {
                    break;
                }
                where = where > o.taken.end ? where : o.taken.end;
            }
            peak[d] = std::max(peak[d], where + size);
            const auto behind = [](index_t offset, const placed_tile& o) { return offset < o.taken.begin; };
            placed.insert(std::upper_bound(placed.begin(), placed.end(), where, behind), {{where, where + size}, mine});
            for (int k = 0; k < b.count; ++k) {
                tile& t = p.tiles[to_size(tiles[k])];
                t.offset = where;
                where += align(t.bytes, p.alignment);
            }
        }
    }
    const auto host = peak.begin() + p.devices;
    p.arena_bytes.assign(peak.begin(), host);
    p.host_bytes.clear();
    if (std::any_of(p.tiles.begin(), p.tiles.end(), [](const tile& t) { return t.on_host; })) {
        p.host_bytes.assign(host, peak.end());
    }
}

TESSERA_INLINE void place_persistent(plan& p) {
    std::vector<char> alone(p.tiles.size(), 1);
    for (const task& t : p.tasks) {
        for (const int w : t.params().parts.empty() ? std::span<const int>() : std::span<const int>(t.writes)) {
            alone[to_size(w)] = 0;
        }
    }
    std::vector<int> tiles;
    for (int i = 0; i < static_cast<int>(p.tiles.size()); ++i) {
        const tile& t = p.tiles[to_size(i)];
        if (t.alias < 0 && t.device >= 0 && is_persistent(t.kind)) {
            tiles.push_back(i);
        }
    }
    std::sort(tiles.begin(), tiles.end(), [&](int a, int b) {
        const tile& x = p.tiles[to_size(a)];
        const tile& y = p.tiles[to_size(b)];
        const auto of = [&](int i) { return alone[to_size(i)]; };
        return x.kind != y.kind ? x.kind < y.kind
               : of(a) != of(b) ? of(a) < of(b)
                                : x.tensor < y.tensor || (x.tensor == y.tensor && a < b);
    });
    for (const int i : tiles) {
        tile& t = p.tiles[to_size(i)];
        if (t.on_host) {
            p.host_persistent_bytes.resize(to_size(p.devices), 0);
        }
        index_t& bytes = (t.on_host ? p.host_persistent_bytes : p.persistent_bytes)[to_size(t.device)];
        t.offset = bytes;
        bytes += align(t.bytes, p.alignment);
    }
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE void plan_memory(plan& p) {
    const std::vector<detail::lifetime> live = detail::lifetimes(p);
    p.persistent_bytes.assign(to_size(p.devices), 0);
    p.host_persistent_bytes.clear();
    for (tile& t : p.tiles) {
        if (t.alias < 0 && t.device >= 0 && t.bytes == 0) {
            t.bytes = t.elements * bytes_of(t.type);
        }
    }
    detail::place_persistent(p);
    detail::place_tiles(p, live);
    if (std::any_of(p.tasks.begin(), p.tasks.end(), [](const task& t) { return t.side_stream; })) {
        const std::vector<index_t> least = p.arena_bytes;
        detail::place_tiles(p, detail::kept_for_side_streams(p, live));
        bool fits = true;
        for (std::size_t d = 0; d < least.size(); ++d) {
            fits = fits && p.arena_bytes[d] <= least[d] + least[d] / 32;
        }
        if (!fits) {
            detail::place_tiles(p, live);
        }
    }
    for (tile& t : p.tiles) {
        if (t.alias >= 0) {
            const tile& r = p.tiles[to_size(p.root(t.alias))];
            t.bytes = r.bytes;
            t.offset = r.offset;
            t.format = r.format;
        }
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
