// SPDX-License-Identifier: Apache-2.0
// Bodies of list_placement.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/list_placement.hpp"

#include "tessera/base/stable_sort.hpp"

#include <utility>

namespace tessera::search::placement::detail {

TESSERA_INLINE list_placement::list_placement(evaluator& e)
    : e_(e), g_(e.graph()), groups_(required_groups(g_, e.order())), device_of_group_(to_size(groups_.count), -1),
      group_bytes_(to_size(groups_.count), 0), where_(g_.nodes.size(), 0), ends_(g_.nodes.size(), 0),
      free_(to_size(e.devices()), 0) {
    for (int v = 0; v < g_.count(); ++v) {
        const cost_node& n = g_.nodes[to_size(v)];
        group_bytes_[to_size(groups_.of[to_size(v)])] += static_cast<double>(n.resident_bytes + n.output_bytes);
    }
    for (int d = 0; d < e.devices(); ++d) {
        left_.push_back(e.capacity(d) > 0 ? static_cast<double>(e.capacity(d)) : 0x1p62);
    }
}

TESSERA_INLINE assignment list_placement::placed() {
    for (const int v : by_rank()) {
        place(v);
    }
    return std::move(where_);
}

TESSERA_INLINE double list_placement::time(int v, int d) const {
    const task_time t = e_.time(v, d);
    return static_cast<double>(t.forward + t.backward);
}

TESSERA_INLINE double list_placement::transfer(const cost_edge& x, int from, int to) const {
    return static_cast<double>(e_.between(from, to).time(x.bytes)) * (g_.backward ? 2 : 1);
}

/// Nodes by upward rank, greatest first.
TESSERA_INLINE std::vector<int> list_placement::by_rank() const {
    const int devices = e_.devices();
    std::vector<double> rank(g_.nodes.size(), 0);
    for (std::size_t i = g_.nodes.size(); i-- > 0;) {
        const int v = e_.order().order[i];
        double mean = 0;
        for (int d = 0; d < devices; ++d) {
            mean += time(v, d) / devices;
        }
        double longest = 0;
        for (int k = e_.order().first_out[to_size(v)]; k < e_.order().first_out[to_size(v) + 1]; ++k) {
            const cost_edge& x = g_.edges[to_size(e_.order().out[to_size(k)])];
            double apart = 0;
            for (int a = 0; a < devices; ++a) {
                for (int b = 0; b < devices; ++b) {
                    apart += transfer(x, a, b) / (devices * devices);
                }
            }
            longest = std::max(longest, apart + rank[to_size(x.to)]);
        }
        rank[to_size(v)] = mean + longest;
    }
    std::vector<int> order = e_.order().order;
    tessera::detail::stable_sort(order, [&](int a, int b) { return rank[to_size(a)] > rank[to_size(b)]; });
    return order;
}

/// When a node starts on a device: it is free, and what the node reads has come.
TESSERA_INLINE double list_placement::start(int v, int d) const {
    double begin = free_[to_size(d)];
    for (int k = e_.order().first_in[to_size(v)]; k < e_.order().first_in[to_size(v) + 1]; ++k) {
        const cost_edge& x = g_.edges[to_size(e_.order().in[to_size(k)])];
        begin = std::max(begin, ends_[to_size(x.from)] + transfer(x, where_[to_size(x.from)], d));
    }
    return begin;
}

TESSERA_INLINE void list_placement::place(int v) {
    const std::size_t group = to_size(groups_.of[to_size(v)]);
    int best = -1;
    double least = 0;
    for (int pass = 0; pass < 2 && best < 0; ++pass) { // first those with memory
        for (int d = 0; d < e_.devices(); ++d) {
            const bool chosen = device_of_group_[group] == d;
            const bool open = device_of_group_[group] < 0 && e_.supports(v, d) &&
                              (pass == 1 || left_[to_size(d)] >= group_bytes_[group]);
            const double end = pass == 0 ? start(v, d) + time(v, d) : -left_[to_size(d)];
            if ((chosen || open) && (best < 0 || end < least)) {
                best = d;
                least = end;
            }
        }
    }
    best = best < 0 ? 0 : best;
    const double end = start(v, best) + time(v, best);
    left_[to_size(best)] -= device_of_group_[group] < 0 ? group_bytes_[group] : 0;
    device_of_group_[group] = best;
    where_[to_size(v)] = best;
    ends_[to_size(v)] = free_[to_size(best)] = end;
}

} // namespace tessera::search::placement::detail

namespace tessera::search::placement {

TESSERA_INLINE found by_list(evaluator& e) { return priced(e, detail::list_placement(e).placed()); }

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
