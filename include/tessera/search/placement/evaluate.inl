// SPDX-License-Identifier: Apache-2.0
// Bodies of evaluate.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/evaluate.hpp"

namespace tessera::search::placement {

TESSERA_INLINE price evaluator::priced(const assignment& where) {
    simulate(where);
    return {step(), excess(where)};
}

TESSERA_INLINE outcome evaluator::evaluate(const assignment& where) {
    simulate(where);
    outcome result;
    result.step = step();
    result.busy = busy();
    result.sent_bytes = sent_bytes();
    result.peak_bytes = peaks(where);
    result.why = trouble(where, result.peak_bytes);
    result.feasible = result.why.empty();
    return result;
}

TESSERA_INLINE std::vector<index_t> evaluator::all_bytes(const assignment& where) const {
    std::vector<index_t> all(to_size(devices()), 0);
    for (int v = 0; v < graph().count(); ++v) {
        const cost_node& node = graph().nodes[to_size(v)];
        all[to_size(where[to_size(v)])] += node.resident_bytes + node.output_bytes;
        for (int d = 0; d < devices(); ++d) {
            if (d != where[to_size(v)]) {
                all[to_size(d)] += bytes_of(v, d);
            }
        }
    }
    return all;
}

TESSERA_INLINE std::vector<index_t> evaluator::peaks(const assignment& where) const {
    std::vector<index_t> most(to_size(devices()), 0);
    std::vector<std::vector<std::pair<index_t, index_t>>> changes(to_size(devices()));
    const auto live = [&](int d, const life& l, index_t bytes) {
        if (bytes > 0 && l.end > l.begin) {
            changes[to_size(d)].push_back({l.begin, bytes});
            changes[to_size(d)].push_back({l.end, -bytes});
        }
    };
    for (int v = 0; v < graph().count(); ++v) {
        const cost_node& node = graph().nodes[to_size(v)];
        most[to_size(where[to_size(v)])] += node.resident_bytes;
        live(where[to_size(v)], output_life(v), node.output_bytes);
        for (int d = 0; d < devices(); ++d) {
            if (d != where[to_size(v)]) {
                live(d, copy_life(v, d), bytes_of(v, d));
            }
        }
    }
    for (int d = 0; d < devices(); ++d) {
        std::sort(changes[to_size(d)].begin(), changes[to_size(d)].end()); // at one time what ends goes first
        index_t now = most[to_size(d)];
        for (const auto& change : changes[to_size(d)]) {
            now += change.second;
            most[to_size(d)] = std::max(most[to_size(d)], now);
        }
    }
    return most;
}

TESSERA_INLINE index_t evaluator::excess(const assignment& where) const {
    const std::vector<index_t> all = all_bytes(where);
    bool over = false;
    for (int d = 0; d < devices(); ++d) {
        over = over || (capacity(d) > 0 && all[to_size(d)] > capacity(d));
    }
    index_t sum = 0;
    if (over) {
        const std::vector<index_t> most = peaks(where);
        for (int d = 0; d < devices(); ++d) {
            const index_t limit = capacity(d);
            sum += limit > 0 ? std::max<index_t>(0, most[to_size(d)] - limit) : 0;
        }
    }
    for (int v = 0; v < graph().count(); ++v) {
        const int d = where[to_size(v)];
        sum += supports(v, d) ? 0 : std::max<index_t>(1, capacity(d));
    }
    return sum;
}

TESSERA_INLINE std::string evaluator::trouble(const assignment& where, const std::vector<index_t>& most) const {
    std::vector<std::pair<int, int>> groups;
    for (int v = 0; v < graph().count(); ++v) {
        if (!supports(v, where[to_size(v)])) {
            return detail::text_of_node(graph(), v) + " cannot run on device " + std::to_string(where[to_size(v)]);
        }
        if (graph().nodes[to_size(v)].group >= 0) {
            groups.push_back({graph().nodes[to_size(v)].group, v});
        }
    }
    std::sort(groups.begin(), groups.end());
    for (std::size_t i = 1; i < groups.size(); ++i) {
        const int a = groups[i - 1].second;
        const int b = groups[i].second;
        if (groups[i].first == groups[i - 1].first && where[to_size(a)] != where[to_size(b)]) {
            return detail::text_of_node(graph(), a) + " and " + detail::text_of_node(graph(), b) +
                   " of one group lie on devices " + std::to_string(where[to_size(a)]) + " and " +
                   std::to_string(where[to_size(b)]);
        }
    }
    for (int d = 0; d < devices(); ++d) {
        const index_t limit = capacity(d);
        if (limit > 0 && most[to_size(d)] > limit) {
            return "device " + std::to_string(d) + " has " + std::to_string(limit) + " bytes of memory and needs " +
                   std::to_string(most[to_size(d)]);
        }
    }
    return "";
}

TESSERA_INLINE outcome evaluate(const cost_graph& g, const cluster& on, const assignment& where) {
    return evaluator(g, on).evaluate(where);
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
