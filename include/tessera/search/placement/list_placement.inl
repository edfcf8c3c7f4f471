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
        for (int k = e.order().first_out[detail::at(v)]; k < e.order().first_out[detail::at(v) + 1]; ++k) {
            const cost_edge& x = g.edges[detail::at(e.order().out[detail::at(k)])];
            double apart = 0;
            for (int a = 0; a < devices; ++a) {
                for (int b = 0; b < devices; ++b) {
                    apart += moves(x, a, b) / (devices * devices);
                }
            }
            longest = std::max(longest, apart + rank[detail::at(x.to)]);
        }
        rank[detail::at(v)] = mean + longest;
    }
    std::vector<int> by_rank = e.order().order;
    tessera::detail::stable_sort(by_rank, [&](int a, int b) { return rank[detail::at(a)] > rank[detail::at(b)]; });

    const grouping groups = required_groups(g, e.order());
    std::vector<int> device_of_group(detail::at(groups.count), -1);
    std::vector<double> group_bytes(detail::at(groups.count), 0);
    for (int v = 0; v < g.count(); ++v) {
        const cost_node& n = g.nodes[detail::at(v)];
        group_bytes[detail::at(groups.of[detail::at(v)])] += static_cast<double>(n.resident_bytes + n.output_bytes);
    }
    assignment where(g.nodes.size(), 0);
    std::vector<double> ends(g.nodes.size(), 0);
    std::vector<double> free(detail::at(devices), 0);
    std::vector<double> left;
    for (int d = 0; d < devices; ++d) {
        left.push_back(e.capacity(d) > 0 ? static_cast<double>(e.capacity(d)) : 0x1p62);
    }
    for (const int v : by_rank) {
        const std::size_t group = detail::at(groups.of[detail::at(v)]);
        int best = -1;
        double least = 0;
        for (int pass = 0; pass < 2 && best < 0; ++pass) { // first those with memory
            for (int d = 0; d < devices; ++d) {
                const bool chosen = device_of_group[group] == d;
                const bool open = device_of_group[group] < 0 && e.supports(v, d) &&
                                  (pass == 1 || left[detail::at(d)] >= group_bytes[group]);
                double start = free[detail::at(d)];
                for (int k = e.order().first_in[detail::at(v)]; k < e.order().first_in[detail::at(v) + 1]; ++k) {
                    const cost_edge& x = g.edges[detail::at(e.order().in[detail::at(k)])];
                    start = std::max(start, ends[detail::at(x.from)] + moves(x, where[detail::at(x.from)], d));
                }
                const double end = pass == 0 ? start + takes(v, d) : -left[detail::at(d)];
                if ((chosen || open) && (best < 0 || end < least)) {
                    best = d;
                    least = end;
                }
            }
        }
        best = best < 0 ? 0 : best;
        double start = free[detail::at(best)];
        for (int k = e.order().first_in[detail::at(v)]; k < e.order().first_in[detail::at(v) + 1]; ++k) {
            const cost_edge& x = g.edges[detail::at(e.order().in[detail::at(k)])];
            start = std::max(start, ends[detail::at(x.from)] + moves(x, where[detail::at(x.from)], best));
        }
        left[detail::at(best)] -= device_of_group[group] < 0 ? group_bytes[group] : 0;
        device_of_group[group] = best;
        where[detail::at(v)] = best;
        ends[detail::at(v)] = free[detail::at(best)] = start + takes(v, best);
    }
    return priced(e, std::move(where));
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
