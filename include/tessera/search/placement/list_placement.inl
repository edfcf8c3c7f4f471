// SPDX-License-Identifier: Apache-2.0
// Bodies of list_placement.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/list_placement.hpp"

#include "tessera/base/stable_sort.hpp"

namespace tessera::search::placement {

TESSERA_INLINE found by_list(evaluator& e) {
    const cost_graph& g = e.graph();
    const int devices = e.devices();
    const auto takes = [&](int v, int d) {
        const task_time t = e.time(v, d);
        return static_cast<double>(t.forward + t.backward);
    };
    const auto moves = [&](const cost_edge& x, int from, int to) {
        return static_cast<double>(e.between(from, to).time(x.bytes)) * (g.backward ? 2 : 1);
    };
    std::vector<double> rank(g.nodes.size(), 0);
    for (std::size_t i = g.nodes.size(); i-- > 0;) {
        const int v = e.order().order[i];
        double mean = 0;
        for (int d = 0; d < devices; ++d) {
            mean += takes(v, d) / devices;
        }
        double longest = 0;
        for (int k = e.order().first_out[to_size(v)]; k < e.order().first_out[to_size(v) + 1]; ++k) {
            const cost_edge& x = g.edges[to_size(e.order().out[to_size(k)])];
            double apart = 0;
            for (int a = 0; a < devices; ++a) {
                for (int b = 0; b < devices; ++b) {
                    apart += moves(x, a, b) / (devices * devices);
                }
            }
            longest = std::max(longest, apart + rank[to_size(x.to)]);
        }
        rank[to_size(v)] = mean + longest;
    }
    std::vector<int> by_rank = e.order().order;
    tessera::detail::stable_sort(by_rank, [&](int a, int b) { return rank[to_size(a)] > rank[to_size(b)]; });

    const grouping groups = required_groups(g, e.order());
    std::vector<int> device_of_group(to_size(groups.count), -1);
    std::vector<double> group_bytes(to_size(groups.count), 0);
    for (int v = 0; v < g.count(); ++v) {
        const cost_node& n = g.nodes[to_size(v)];
        group_bytes[to_size(groups.of[to_size(v)])] += static_cast<double>(n.resident_bytes + n.output_bytes);
    }
    assignment where(g.nodes.size(), 0);
    std::vector<double> ends(g.nodes.size(), 0);
    std::vector<double> free(to_size(devices), 0);
    std::vector<double> left;
    for (int d = 0; d < devices; ++d) {
        left.push_back(e.capacity(d) > 0 ? static_cast<double>(e.capacity(d)) : 0x1p62);
    }
    for (const int v : by_rank) {
        const std::size_t group = to_size(groups.of[to_size(v)]);
        int best = -1;
        double least = 0;
        for (int pass = 0; pass < 2 && best < 0; ++pass) { // first those with memory
            for (int d = 0; d < devices; ++d) {
                const bool chosen = device_of_group[group] == d;
                const bool open = device_of_group[group] < 0 && e.supports(v, d) &&
                                  (pass == 1 || left[to_size(d)] >= group_bytes[group]);
                double start = free[to_size(d)];
                for (int k = e.order().first_in[to_size(v)]; k < e.order().first_in[to_size(v) + 1]; ++k) {
                    const cost_edge& x = g.edges[to_size(e.order().in[to_size(k)])];
                    start = std::max(start, ends[to_size(x.from)] + moves(x, where[to_size(x.from)], d));
                }
                const double end = pass == 0 ? start + takes(v, d) : -left[to_size(d)];
                if ((chosen || open) && (best < 0 || end < least)) {
                    best = d;
                    least = end;
                }
            }
        }
        best = best < 0 ? 0 : best;
        double start = free[to_size(best)];
        for (int k = e.order().first_in[to_size(v)]; k < e.order().first_in[to_size(v) + 1]; ++k) {
            const cost_edge& x = g.edges[to_size(e.order().in[to_size(k)])];
            start = std::max(start, ends[to_size(x.from)] + moves(x, where[to_size(x.from)], best));
        }
        left[to_size(best)] -= device_of_group[group] < 0 ? group_bytes[group] : 0;
        device_of_group[group] = best;
        where[to_size(v)] = best;
        ends[to_size(v)] = free[to_size(best)] = start + takes(v, best);
    }
    return priced(e, std::move(where));
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
