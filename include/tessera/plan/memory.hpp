// SPDX-License-Identifier: Apache-2.0
// Memory: tiles that live at the same time get different places in their device's arena; the others may share one.
#pragma once

#include "tessera/plan/access.hpp"

#include <algorithm>

namespace tessera {

namespace detail {

constexpr index_t align(index_t bytes, index_t to = arena_alignment) { return (bytes + to - 1) / to * to; }

struct lifetime {
    int first = -1;
    int last = -1;
};

/// A tile with its place in the arena.
struct placed_tile {
    interval taken;
    lifetime live;
};

template <class Plan>
std::vector<lifetime> lifetimes(const Plan& p) {
    std::vector<lifetime> live(p.tiles.size());
    std::vector<access> touched;
    for (int i = 0; i < static_cast<int>(p.tasks.size()); ++i) {
        accesses_of(p, p.tasks[static_cast<std::size_t>(i)], touched);
        for (const access& a : touched) {
            lifetime& l = live[static_cast<std::size_t>(a.tile)];
            l.first = l.first < 0 ? i : l.first;
            l.last = i;
        }
    }
    for (int i = 0; i < static_cast<int>(p.tasks.size()); ++i) { // in a queue it may be done late, and in the next run
        if (p.is_queued(i)) {
            accesses_of(p, p.tasks[static_cast<std::size_t>(i)], touched);
            for (const access& a : touched) {
                live[static_cast<std::size_t>(a.tile)] = {0, static_cast<int>(p.tasks.size())};
            }
        }
    }
    for (std::size_t t = 0; t < p.tiles.size(); ++t) {
        if (p.tiles[t].keep) {
            live[static_cast<std::size_t>(p.root(static_cast<int>(t)))].last = static_cast<int>(p.tasks.size());
        }
    }
    return live;
}

/// The same where what GPUs sum and update beside the computation keeps its memory to the end: a computation that took it over would wait for the
/// exchange. (Scratch memory is not kept.)
template <class Plan>
std::vector<lifetime> kept_beside(const Plan& p, std::vector<lifetime> live) {
    std::vector<access> touched;
    for (const task& t : p.tasks) {
        if (t.beside && (t.kind == task_kind::update || t.kind == task_kind::reduce)) {
            accesses_of(p, t, touched);
            for (const access& a : touched) {
                const bool scratch = p.tiles[static_cast<std::size_t>(a.tile)].kind == tile_kind::scratch;
                lifetime& l = live[static_cast<std::size_t>(a.tile)];
                l.last = scratch ? l.last : static_cast<int>(p.tasks.size());
            }
        }
    }
    return live;
}

/// Places the tiles of every device, largest first, each at the lowest offset that is free during its whole life.
template <class Plan>
void place_tiles(Plan& p, const std::vector<lifetime>& live) {
    p.arena_bytes.assign(static_cast<std::size_t>(p.devices), 0);
    std::vector<std::vector<int>> by_device(static_cast<std::size_t>(p.devices));
    for (std::size_t i = 0; i < p.tiles.size(); ++i) {
        const tile& t = p.tiles[i];
        if (t.alias < 0 && t.device >= 0 && !is_persistent(t.kind) && live[i].first >= 0) {
            by_device[static_cast<std::size_t>(t.device)].push_back(static_cast<int>(i));
        }
    }
    for (std::size_t d = 0; d < by_device.size(); ++d) {
        std::vector<int>& tiles = by_device[d];
        std::sort(tiles.begin(), tiles.end(), [&](int a, int b) {
            const index_t x = p.tiles[static_cast<std::size_t>(a)].bytes;
            const index_t y = p.tiles[static_cast<std::size_t>(b)].bytes;
            return x != y ? x > y : a < b;
        });
        std::vector<detail::placed_tile> placed; // by offset
        for (int i : tiles) {
            const detail::lifetime& mine = live[static_cast<std::size_t>(i)];
            tile& t = p.tiles[static_cast<std::size_t>(i)];
            const index_t size = detail::align(t.bytes, p.alignment);
            index_t where = 0;
            for (const detail::placed_tile& o : placed) {
                if (mine.first > o.live.last || o.live.first > mine.last) {
                    continue;
                }
                if (where + size <= o.taken.begin) {
                    break;
                }
                where = where > o.taken.end ? where : o.taken.end;
            }
            t.offset = where;
            p.arena_bytes[d] = std::max(p.arena_bytes[d], where + size);
            const auto behind = [](index_t offset, const detail::placed_tile& o) { return offset < o.taken.begin; };
            placed.insert(std::upper_bound(placed.begin(), placed.end(), where, behind), {{where, where + size}, mine});
        }
    }
}

} // namespace detail

/// Gives every tile its place. Tiles are placed largest first, each at the lowest offset that is free during its whole life
/// (lives are measured in the plan's order; set_waits makes devices respect it where memory is shared; on GPUs gradients that are summed and updated
/// beside the computation live to the end, unless that makes an arena more than a 32nd larger). Persistent tiles get places
/// of their own in the persistent arena if they have none yet. Sets arena_bytes and persistent_bytes: the predicted peaks.
template <class Plan>
void plan_memory(Plan& p) {
    const std::vector<detail::lifetime> live = detail::lifetimes(p);
    p.persistent_bytes.assign(static_cast<std::size_t>(p.devices), 0);
    for (tile& t : p.tiles) {
        if (t.alias >= 0 || t.device < 0) {
            continue;
        }
        if (t.bytes == 0) {
            t.bytes = t.elements * bytes_of(t.type);
        }
        const auto d = static_cast<std::size_t>(t.device);
        if (is_persistent(t.kind)) {
            t.offset = p.persistent_bytes[d];
            p.persistent_bytes[d] += detail::align(t.bytes, p.alignment);
        }
    }
    detail::place_tiles(p, live);
    if (std::any_of(p.tasks.begin(), p.tasks.end(), [](const task& t) { return t.beside; })) {
        const std::vector<index_t> least = p.arena_bytes;
        detail::place_tiles(p, detail::kept_beside(p, live));
        bool fits = true;
        for (std::size_t d = 0; d < least.size(); ++d) {
            fits = fits && p.arena_bytes[d] <= least[d] + least[d] / 32;
        }
        fits ? void() : detail::place_tiles(p, live);
    }
    for (tile& t : p.tiles) {
        if (t.alias >= 0) {
            const tile& r = p.tiles[static_cast<std::size_t>(p.root(t.alias))];
            t.bytes = r.bytes;
            t.offset = r.offset;
            t.format = r.format;
        }
    }
}

} // namespace tessera
