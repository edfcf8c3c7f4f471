// SPDX-License-Identifier: Apache-2.0
// Memory of a plan's devices, and what a step takes where a device swaps tensors to its host, for Tofu's tables.
#pragma once

#include "tessera/machine/cluster.hpp"
#include "tessera/plan/memory.hpp"
#include "tessera/simulate/simulate.hpp"

#include <map>
#include <tuple>
#include <vector>

namespace papers {

namespace ts = tessera;
using ts::index_t;

/// What lies in a device's memory from one task to another: a tile, or all that operators which share a parameter add
/// to its gradient, as if each added to what is there. Plans keep these apart until all are there, which for unrolled
/// layers takes as many times the parameters as there are steps.
struct resident {
    index_t bytes = 0;
    int device = 0;
    int first = -1; ///< task; -1: it is there before the step, and after it
    int last = -1;
};

struct residents {
    std::vector<resident> all;
    std::vector<int> of_tile; ///< -1: none
};

inline residents residents_of(const ts::plan& p) {
    const std::vector<ts::detail::lifetime> live = ts::detail::lifetimes(p);
    residents r;
    r.of_tile.assign(p.tiles.size(), -1);
    std::map<std::tuple<int, int, std::vector<index_t>>, int> gradients;
    for (int t = 0; t < static_cast<int>(p.tiles.size()); ++t) {
        const ts::tile& x = p.tiles[ts::to_size(t)];
        if (x.device < 0 || x.alias >= 0) {
            continue;
        }
        const bool stays = ts::is_persistent(x.kind);
        if (!stays && live[ts::to_size(t)].first < 0) {
            continue;
        }
        resident own{x.bytes > 0 ? x.bytes : x.elements * ts::bytes_of(x.type), x.device,
                     stays ? -1 : live[ts::to_size(t)].first,
                     stays ? static_cast<int>(p.tasks.size()) : live[ts::to_size(t)].last};
        int number = static_cast<int>(r.all.size());
        if (x.kind == ts::tile_kind::parameter_gradient) {
            std::vector<index_t> region;
            for (int d = 0; d < x.region.rank; ++d) {
                region.push_back(x.region.dim[d].begin);
                region.push_back(x.region.dim[d].end);
            }
            number = gradients.try_emplace({x.tensor, x.device, region}, number).first->second;
        }
        r.of_tile[ts::to_size(t)] = number;
        if (number < static_cast<int>(r.all.size())) {
            resident& sum = r.all[ts::to_size(number)];
            sum.first = std::min(sum.first, own.first);
            sum.last = std::max(sum.last, own.last);
        } else {
            r.all.push_back(own);
        }
    }
    for (int t = 0; t < static_cast<int>(p.tiles.size()); ++t) {
        r.of_tile[ts::to_size(t)] = p.tiles[ts::to_size(t)].device < 0 ? -1 : r.of_tile[ts::to_size(p.root(t))];
    }
    return r;
}

/// Bytes of the fullest device at its worst task, as if gradients of shared parameters were added up as they come, in
/// an arena without gaps.
inline index_t least_peak(const ts::plan& p) {
    const residents r = residents_of(p);
    const std::size_t tasks = p.tasks.size();
    std::vector<std::vector<index_t>> change(ts::to_size(p.devices), std::vector<index_t>(tasks + 2, 0));
    for (const resident& x : r.all) {
        std::vector<index_t>& mine = change[ts::to_size(x.device)];
        mine[ts::to_size(x.first + 1)] += x.bytes;
        const auto end = ts::to_size(x.last) + 2;
        if (end < mine.size()) {
            mine[end] -= x.bytes;
        }
    }
    index_t most = 0;
    for (const std::vector<index_t>& mine : change) {
        index_t now = 0;
        for (const index_t c : mine) {
            now += c;
            most = std::max(most, now);
        }
    }
    return most;
}

/// Swapping of one device to its host: nothing that a task touches may be away; what is needed again last goes first,
/// is copied out unless the host has it as it is, and copied in before it is used. Copies take their turn on the
/// device's share of the host link, each way by itself, and run ahead of the tasks as far as memory has room for what
/// they bring; a task waits for its copies.
struct swapped {
    index_t makespan = 0; ///< ns
    index_t bytes = 0;    ///< both ways
    bool possible = true; ///< false: some task alone needs more than the memory
};

inline swapped swap_to_host(const ts::graph_view& g, const ts::plan& p, const ts::cluster& one, index_t memory,
                            index_t link_megabytes) {
    const ts::simulation::timeline t = ts::simulation::simulate(g, p, one);
    const residents r = residents_of(p);
    std::vector<std::vector<int>> uses(r.all.size()); // tasks that touch each, in order
    std::vector<std::vector<int>> touched(p.tasks.size());
    std::vector<std::vector<char>> writes(p.tasks.size());
    std::vector<ts::access> accesses;
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        ts::accesses_of(p, p.tasks[i], accesses);
        for (const ts::access& a : accesses) {
            const int x = r.of_tile[ts::to_size(a.tile)];
            if (x < 0) {
                continue;
            }
            auto place = std::find(touched[i].begin(), touched[i].end(), x);
            if (place == touched[i].end()) {
                touched[i].push_back(x);
                writes[i].push_back(0);
                uses[ts::to_size(x)].push_back(static_cast<int>(i));
                place = touched[i].end() - 1;
            }
            char& w = writes[i][ts::to_size(place - touched[i].begin())];
            w = w != 0 || a.write ? 1 : 0;
        }
    }
    struct state {
        bool here = false;
        bool clean = true; ///< the host has the same
        std::size_t next = 0;
        index_t free_at = 0; ///< ns: its last task has ended
    };
    std::vector<state> now(r.all.size());
    std::vector<int> here;
    index_t used = 0;
    index_t in_free = 0;
    index_t out_free = 0;
    index_t time = 0;
    swapped s;
    const auto copy_time = [&](index_t bytes) { return bytes * 1000 / link_megabytes; };
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        index_t start = time;
        for (const int x : touched[i]) {
            state& mine = now[ts::to_size(x)];
            const resident& what = r.all[ts::to_size(x)];
            if (mine.here) {
                continue;
            }
            index_t room_at = 0;
            while (used + what.bytes > memory) {
                int victim = -1;
                std::size_t furthest = 0;
                for (const int y : here) {
                    const state& other = now[ts::to_size(y)];
                    const std::vector<int>& all = uses[ts::to_size(y)];
                    const std::size_t next =
                        other.next < all.size() ? ts::to_size(all[other.next]) : p.tasks.size() + 1;
                    const bool wanted = std::find(touched[i].begin(), touched[i].end(), y) != touched[i].end();
                    if (!wanted && next >= furthest) {
                        furthest = next;
                        victim = y;
                    }
                }
                if (victim < 0) {
                    s.possible = false;
                    return s;
                }
                state& goes = now[ts::to_size(victim)];
                const resident& gone = r.all[ts::to_size(victim)];
                const bool dead = furthest > p.tasks.size() && gone.first >= 0;
                index_t away = goes.free_at;
                if (!goes.clean && !dead) {
                    out_free = away = std::max(out_free, goes.free_at) + copy_time(gone.bytes);
                    s.bytes += gone.bytes;
                    goes.clean = true;
                }
                room_at = std::max(room_at, away);
                goes.here = false;
                used -= gone.bytes;
                here.erase(std::find(here.begin(), here.end(), victim));
            }
            const bool is_new = what.first == static_cast<int>(i);
            if (!is_new) {
                in_free = std::max(in_free, room_at) + copy_time(what.bytes);
                s.bytes += what.bytes;
                start = std::max(start, in_free);
            }
            start = std::max(start, room_at);
            mine.here = true;
            used += what.bytes;
            here.push_back(x);
        }
        time = start + t.tasks[i].end - t.tasks[i].start;
        for (std::size_t k = 0; k < touched[i].size(); ++k) {
            state& mine = now[ts::to_size(touched[i][k])];
            mine.clean = mine.clean && writes[i][k] == 0;
            mine.free_at = time;
            ++mine.next;
        }
    }
    s.makespan = std::max({time, in_free, out_free});
    return s;
}

} // namespace papers
