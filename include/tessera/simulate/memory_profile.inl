// SPDX-License-Identifier: Apache-2.0
// Bodies of memory_profile.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/memory_profile.hpp"

#include <utility>

namespace tessera::simulation {

TESSERA_INLINE std::vector<std::vector<memory_sample>> memory_over_time(const plan& p, const timeline& t) {
    struct life {
        index_t first = -1;
        index_t last = 0;
    };
    std::vector<life> lives(p.tiles.size());
    std::vector<access> touched;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        accesses_of(p, p.tasks[i], touched);
        for (const access& a : touched) {
            life& l = lives[to_size(a.tile)];
            l.first = l.first < 0 ? t.tasks[i].start : std::min(l.first, t.tasks[i].start);
            l.last = std::max(l.last, t.tasks[i].end);
        }
    }
    std::vector<char> kept(p.tiles.size(), 0);
    for (std::size_t i = 0; i < p.tiles.size(); ++i) {
        if (p.tiles[i].keep) {
            kept[to_size(p.root(static_cast<int>(i)))] = 1;
        }
    }
    std::vector<std::vector<memory_sample>> changes(to_size(p.devices));
    for (std::size_t i = 0; i < p.tiles.size(); ++i) {
        const tile& x = p.tiles[i];
        const bool persistent = is_persistent(x.kind);
        if (x.device < 0 || x.on_host || x.alias >= 0 || (!persistent && lives[i].first < 0)) {
            continue;
        }
        std::vector<memory_sample>& mine = changes[to_size(x.device)];
        const index_t bytes = x.bytes > 0 ? x.bytes : x.elements * bytes_of(x.type);
        mine.push_back({persistent ? 0 : lives[i].first, bytes});
        if (!persistent && kept[i] == 0) {
            mine.push_back({lives[i].last, -bytes});
        }
    }
    std::vector<std::vector<memory_sample>> all;
    for (std::vector<memory_sample>& mine : changes) {
        std::sort(mine.begin(), mine.end(), [](const memory_sample& a, const memory_sample& b) {
            return a.time != b.time ? a.time < b.time : a.bytes < b.bytes; // what ends makes room for what begins
        });
        std::vector<memory_sample> sums{{0, 0}};
        for (const memory_sample& m : mine) {
            if (m.time != sums.back().time) {
                sums.push_back({m.time, sums.back().bytes});
            }
            sums.back().bytes += m.bytes;
        }
        all.push_back(std::move(sums));
    }
    return all;
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
