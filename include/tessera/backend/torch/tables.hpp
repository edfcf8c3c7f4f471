// SPDX-License-Identifier: Apache-2.0
// The forward part of a plan by operators, and what an exchange amounts to.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/program.hpp"
#include "tessera/plan/plan.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace tessera::torch::detail {

/// Of the first micro-batch, whose tasks are those of all: by operator the copies before it, its compute tasks, and the tiles of a view.
struct tile_tables {
    std::vector<std::vector<int>> copies, computes, views;

    tile_tables() = default;
    tile_tables(const plan& p, const graph_view& g) : copies(size(g)), computes(size(g)), views(size(g)) {
        for (int i = 0; i < static_cast<int>(p.tasks.size()); ++i) {
            const task& t = p.tasks[static_cast<std::size_t>(i)];
            if (t.micro_batch != 0 || t.what != pass::forward) {
                continue;
            }
            auto& list = t.kind == task_kind::copy ? copies : computes;
            if (t.kind == task_kind::copy || t.kind == task_kind::compute) {
                list[static_cast<std::size_t>(t.op)].push_back(i);
            }
        }
        for (int i = 0; i < static_cast<int>(p.tiles.size()); ++i) {
            const tile& t = p.tiles[static_cast<std::size_t>(i)];
            const bool is_view = t.kind == tile_kind::activation && t.alias >= 0 && t.micro_batch == 0;
            const int op = is_view ? g.tensors[t.tensor].producer : -1;
            if (op >= 0 && g.facts(op).view) {
                views[static_cast<std::size_t>(op)].push_back(i);
            }
        }
    }

private:
    static std::size_t size(const graph_view& g) { return static_cast<std::size_t>(g.op_count); }
};

/// The dimension along which regions differ while the others are the same; -1: none, or several.
inline int only_dimension(const std::vector<located_tile>& all) {
    int found = -1;
    for (const located_tile& x : all) {
        for (int d = 0; d < x.region.rank; ++d) {
            if (!(x.region.dim[d] == all[0].region.dim[d])) {
                if (found >= 0 && found != d) {
                    return -1;
                }
                found = d;
            }
        }
    }
    return found;
}

inline bool all_same(const std::vector<located_tile>& all) {
    return std::all_of(all.begin(), all.end(), [&](const located_tile& x) { return x.region == all[0].region; });
}

inline bool one_of_each_rank(const std::vector<located_tile>& all) {
    std::set<int> ranks;
    return std::all_of(all.begin(), all.end(), [&](const located_tile& x) { return ranks.insert(x.rank).second; });
}

inline bool same_ranks(const exchange_table& x) {
    return x.sources.size() == x.targets.size() &&
           std::equal(x.sources.begin(), x.sources.end(), x.targets.begin(),
                      [](const located_tile& a, const located_tile& b) { return a.rank == b.rank; });
}

/// True where every target takes all of every source.
inline bool all_to_each(const exchange_table& x) { return x.moves.size() == x.sources.size() * x.targets.size(); }

/// What an exchange is called: "all-reduce" and "all-gather" are run as such, the others as batched sends and receives.
inline std::string kind_of(const exchange_table& x) {
    if (!x.moves_between_ranks()) {
        return "local";
    }
    if (!one_of_each_rank(x.sources) || !one_of_each_rank(x.targets)) {
        return "boxes";
    }
    const int from = only_dimension(x.sources);
    const int to = only_dimension(x.targets);
    const std::size_t n = x.sources.size();
    if (n > 1 && all_same(x.sources) && all_to_each(x)) {
        return same_ranks(x) && all_same(x.targets) ? "all-reduce"
               : to >= 0 && same_ranks(x)           ? "reduce-scatter"
                                                    : "reduce";
    }
    if (n == 1) {
        return "broadcast";
    }
    if (from >= 0 && all_same(x.targets) && all_to_each(x)) {
        const index_t extent = x.sources[0].region.dim[from].size();
        const bool even = std::all_of(x.sources.begin(), x.sources.end(),
                                      [&](const located_tile& s) { return s.region.dim[from].size() == extent; });
        const bool in_order = std::is_sorted(x.sources.begin(), x.sources.end(), [&](const auto& a, const auto& b) {
            return a.region.dim[from].begin < b.region.dim[from].begin;
        });
        return same_ranks(x) && even && in_order ? "all-gather"
               : x.targets.size() == 1           ? "gather"
                                                 : "uneven all-gather";
    }
    if (from >= 0 && from == to && same_ranks(x)) {
        return "halo";
    }
    if (from >= 0 && to >= 0 && from != to && same_ranks(x) && all_to_each(x)) {
        return "all-to-all";
    }
    return "boxes";
}

} // namespace tessera::torch::detail

#include "tessera/base/end_header.inl"
