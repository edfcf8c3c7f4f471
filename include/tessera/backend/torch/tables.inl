// SPDX-License-Identifier: Apache-2.0
// Bodies of tables.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/tables.hpp"

namespace tessera::torch::detail {

TESSERA_INLINE tile_tables::tile_tables(const plan& p, const graph_view& g)
    : copies(size(g)), computes(size(g)), views(size(g)) {
    for (int i = 0; i < static_cast<int>(p.tasks.size()); ++i) {
        const task& t = p.tasks[to_size(i)];
        if (t.micro_batch != 0 || t.what != pass::forward) {
            continue;
        }
        auto& list = t.kind() == task_kind::copy ? copies : computes;
        if (t.kind() == task_kind::copy || t.kind() == task_kind::compute) {
            list[to_size(t.op)].push_back(i);
        }
    }
    for (int i = 0; i < static_cast<int>(p.tiles.size()); ++i) {
        const tile& t = p.tiles[to_size(i)];
        const bool is_view = t.kind == tile_kind::activation && t.alias >= 0 && t.micro_batch == 0;
        const int op = is_view ? g.tensors[t.tensor].producer : -1;
        if (op >= 0 && g.facts(op).view) {
            views[to_size(op)].push_back(i);
        }
    }
}

TESSERA_INLINE int only_dimension(const std::vector<located_tile>& all) {
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

TESSERA_INLINE bool all_same(const std::vector<located_tile>& all) {
    return std::all_of(all.begin(), all.end(), [&](const located_tile& x) { return x.region == all[0].region; });
}

TESSERA_INLINE bool one_of_each_rank(const std::vector<located_tile>& all) {
    std::set<int> ranks;
    return std::all_of(all.begin(), all.end(), [&](const located_tile& x) { return ranks.insert(x.rank).second; });
}

TESSERA_INLINE bool same_ranks(const exchange_table& x) {
    return x.sources.size() == x.targets.size() &&
           std::equal(x.sources.begin(), x.sources.end(), x.targets.begin(),
                      [](const located_tile& a, const located_tile& b) { return a.rank == b.rank; });
}

TESSERA_INLINE std::string kind_of(const exchange_table& x) {
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
