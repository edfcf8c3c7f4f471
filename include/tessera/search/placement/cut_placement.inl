// SPDX-License-Identifier: Apache-2.0
// Bodies of cut_placement.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/cut_placement.hpp"

namespace tessera::search::placement {

TESSERA_INLINE weighted_graph undirected(const evaluator& e, const grouping& groups) {
    weighted_graph u;
    u.weight = detail::work_of(e, groups).work;
    u.near.resize(u.weight.size());
    std::vector<std::pair<std::pair<int, int>, double>> pairs;
    for (const cost_edge& x : e.graph().edges) {
        const int a = groups.of[to_size(x.from)];
        const int b = groups.of[to_size(x.to)];
        if (a != b) {
            pairs.push_back({{std::min(a, b), std::max(a, b)}, static_cast<double>(x.bytes) + 1});
        }
    }
    std::sort(pairs.begin(), pairs.end());
    for (std::size_t i = 0; i < pairs.size();) {
        double sum = 0;
        const auto [a, b] = pairs[i].first;
        for (; i < pairs.size() && pairs[i].first == std::pair{a, b}; ++i) {
            sum += pairs[i].second;
        }
        u.near[to_size(a)].push_back({b, sum});
        u.near[to_size(b)].push_back({a, sum});
    }
    return u;
}

TESSERA_INLINE grouping cut_groups(const evaluator& e, int most, const partition_options& o) {
    const grouping required = required_groups(e.graph(), e.order());
    const std::vector<int> part = partition(undirected(e, required), std::min(most, required.count), o);
    detail::node_sets sets(e.graph().count());
    std::vector<int> first(to_size(most), -1);
    for (int v = 0; v < e.graph().count(); ++v) {
        int& one = first[to_size(part[to_size(required.of[to_size(v)])])];
        if (one < 0) {
            one = v;
        } else {
            sets.join(v, one);
        }
    }
    return detail::numbered(e.graph(), e.order(), sets);
}

TESSERA_INLINE found by_cut(evaluator& e, int devices, const partition_options& o) {
    const int used = devices < 1 ? e.devices() : std::min(devices, e.devices());
    const grouping groups = required_groups(e.graph(), e.order());
    return priced(e, expand(groups, partition(undirected(e, groups), used, o)));
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
