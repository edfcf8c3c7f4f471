// SPDX-License-Identifier: Apache-2.0
// Bodies of branch_and_bound.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/branch_and_bound.hpp"

namespace tessera::search::placement::detail {

TESSERA_INLINE placement_bounds::placement_bounds(evaluator& e)
    : e_(e), end_(e.graph().nodes.size()), back_(e.graph().nodes.size()) {
    for (int v = 0; v < e.graph().count(); ++v) {
        task_time least = e.time(v, 0);
        bool known = false;
        for (int d = 0; d < e.devices(); ++d) {
            if (e.supports(v, d)) {
                const task_time t = e.time(v, d);
                least.forward = known ? std::min(least.forward, t.forward) : t.forward;
                least.backward = known ? std::min(least.backward, t.backward) : t.backward;
                known = true;
            }
        }
        least_.push_back(least);
    }
}

TESSERA_INLINE index_t placement_bounds::step(const assignment& where) {
    const cost_graph& g = e_.graph();
    const graph_order& order = e_.order();
    std::vector<index_t> work(to_size(e_.devices()), 0);
    index_t all = 0;
    index_t longest = 0;
    for (const int v : order.order) {
        const task_time t = time(where, v);
        index_t start = 0;
        for (int k = order.first_in[to_size(v)]; k < order.first_in[to_size(v) + 1]; ++k) {
            const cost_edge& x = g.edges[to_size(order.in[to_size(k)])];
            start = std::max(start, end_[to_size(x.from)] + apart(where, x, false));
        }
        end_[to_size(v)] = start + t.forward;
        longest = std::max(longest, end_[to_size(v)]);
        const index_t both = t.forward + (g.backward ? t.backward : 0);
        all += both;
        if (where[to_size(v)] >= 0) {
            work[to_size(where[to_size(v)])] += both;
            longest = std::max(longest, work[to_size(where[to_size(v)])]);
        }
    }
    for (std::size_t i = order.order.size(); g.backward && i-- > 0;) {
        const int v = order.order[i];
        index_t start = end_[to_size(v)];
        for (int k = order.first_out[to_size(v)]; k < order.first_out[to_size(v) + 1]; ++k) {
            const cost_edge& x = g.edges[to_size(order.out[to_size(k)])];
            start = std::max(start, back_[to_size(x.to)] + apart(where, x, true));
        }
        back_[to_size(v)] = start + time(where, v).backward;
        longest = std::max(longest, back_[to_size(v)]);
    }
    return std::max(longest, (all + e_.devices() - 1) / e_.devices());
}

TESSERA_INLINE task_time placement_bounds::time(const assignment& where, int v) const {
    return where[to_size(v)] < 0 ? least_[to_size(v)] : e_.time(v, where[to_size(v)]);
}

TESSERA_INLINE index_t placement_bounds::apart(const assignment& where, const cost_edge& x, bool back) const {
    const int a = where[to_size(x.from)];
    const int b = where[to_size(x.to)];
    if (a < 0 || b < 0 || a == b) {
        return 0;
    }
    const index_t output = e_.graph().nodes[to_size(x.from)].output_bytes;
    const index_t bytes = output > 0 ? std::min(output, x.bytes) : x.bytes;
    return back ? e_.between(b, a).time(bytes) : e_.between(a, b).time(bytes);
}

} // namespace tessera::search::placement::detail

namespace tessera::search::placement {

TESSERA_INLINE exact_found best_of_all(evaluator& e, const exact_options& o) {
    const grouping groups = required_groups(e.graph(), e.order());
    const std::vector<std::vector<int>> members = detail::work_of(e, groups).members;
    detail::placement_bounds bounds(e);
    exact_found result;
    result.best = o.start;
    if (!o.start.where.empty() && !o.start.feasible()) {
        result.best = {};
    }
    assignment where(e.graph().nodes.size(), -1);
    std::vector<index_t> held(to_size(e.devices()), 0);
    struct level {
        std::vector<std::pair<index_t, int>> choices; // bounds and devices
        std::size_t next = 0;
        int chosen = -1;
    };
    std::vector<level> stack;
    const auto put = [&](int group, int device) {
        for (const int v : members[to_size(group)]) {
            const int was = where[to_size(v)];
            const index_t bytes = e.graph().nodes[to_size(v)].resident_bytes;
            if (was >= 0) {
                held[to_size(was)] -= bytes;
            }
            if (device >= 0) {
                held[to_size(device)] += bytes;
            }
            where[to_size(v)] = device;
        }
    };
    const auto open = [&](int group) {
        level l;
        for (int d = 0; d < e.devices(); ++d) {
            bool fits = true;
            for (const int v : members[to_size(group)]) {
                fits = fits && e.supports(v, d);
            }
            put(group, d);
            fits = fits && (e.capacity(d) == 0 || held[to_size(d)] <= e.capacity(d));
            if (fits) {
                l.choices.push_back({bounds.step(where), d});
            }
            put(group, -1);
            ++result.visits;
        }
        std::sort(l.choices.begin(), l.choices.end());
        stack.push_back(std::move(l));
    };
    open(0);
    while (!stack.empty() && result.visits <= o.most_visits) {
        level& top = stack.back();
        const int group = static_cast<int>(stack.size()) - 1;
        put(group, -1);
        const bool none = result.best.where.empty();
        if (top.next == top.choices.size() || (!none && top.choices[top.next].first >= result.best.step)) {
            stack.pop_back(); // later ones have greater bounds
            continue;
        }
        put(group, top.choices[top.next++].second);
        if (group + 1 < groups.count) {
            open(group + 1);
            continue;
        }
        found now = priced(e, where);
        ++result.best.evaluations;
        if (now.feasible() && (none || now.step < result.best.step)) {
            now.evaluations = result.best.evaluations;
            result.best = std::move(now);
        }
    }
    result.proved = stack.empty();
    return result;
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
