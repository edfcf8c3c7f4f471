// SPDX-License-Identifier: Apache-2.0
// Bodies of tofu.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/tofu/tofu.hpp"

#include <utility>

namespace tessera::search::detail {

TESSERA_INLINE tofu_searcher::tofu_searcher(const graph_view& g, const tofu_steps& steps, const tofu_options& o)
    : o_{o}, traffic_{g, steps, o.traffic}, coarse_{coarsen(g, traffic_.descriptions(), o.coarse)},
      chosen_(coarse_.ops.size()) {}

TESSERA_INLINE tofu_result tofu_searcher::recursive() {
    tofu_result r;
    index_t before = 0;
    for (int i = 0; i < traffic_.steps().count(); ++i) {
        std::vector<choices> offered;
        for (std::size_t k = 0; k < chosen_.size(); ++k) {
            offered.push_back(extended(static_cast<int>(k), {chosen_[k]}));
        }
        const index_t bytes = solve(offered, r);
        r.step_bytes.push_back(bytes - before);
        before = bytes;
    }
    finish(r, before);
    return r;
}

TESSERA_INLINE tofu_result tofu_searcher::flat() {
    tofu_result r;
    const std::vector<choices> offered = all_histories();
    finish(r, solve(offered, r));
    return r;
}

TESSERA_INLINE std::vector<tofu_searcher::choices> tofu_searcher::all_histories() const {
    std::vector<choices> offered;
    for (std::size_t k = 0; k < chosen_.size(); ++k) {
        choices all{{}};
        for (int i = 0; i < traffic_.steps().count(); ++i) {
            all = extended(static_cast<int>(k), all);
        }
        offered.push_back(std::move(all));
    }
    return offered;
}

TESSERA_INLINE additive_problem tofu_searcher::problem_of(const std::vector<choices>& offered) {
    const graph_view& g = traffic_.network();
    std::vector<std::vector<cost_t>> own(offered.size());
    for (std::size_t k = 0; k < offered.size(); ++k) {
        for (const std::vector<int>& h : offered[k]) {
            own[k].push_back(unary(static_cast<int>(k), h));
        }
    }
    std::map<std::pair<int, int>, std::vector<cost_t>> edges;
    for (int op = 0; op < g.op_count; ++op) {
        for (int slot = 0; slot < g.ops[op].inputs.size(); ++slot) {
            const int producer = g.tensors[g.ops[op].inputs[slot]].producer;
            if (producer < 0) {
                continue;
            }
            const int from = coarse_.group_of[to_size(producer)];
            const int to = coarse_.group_of[to_size(op)];
            const choices& a = offered[to_size(from)];
            const choices& b = offered[to_size(to)];
            std::vector<cost_t>& table = from == to ? own[to_size(to)] : edges[{from, to}];
            table.resize(from == to ? b.size() : a.size() * b.size(), 0);
            for (std::size_t i = 0; i < a.size(); ++i) {
                const std::vector<int> loops = loops_of(producer, a[i]);
                for (std::size_t k = from == to ? i : 0; k < (from == to ? i + 1 : b.size()); ++k) {
                    table[from == to ? i : i * b.size() + k] += traffic_.edge(op, slot, loops, loops_of(op, b[k]));
                }
            }
        }
    }
    additive_problem p;
    for (std::vector<cost_t>& costs : own) {
        p.add_node(std::move(costs));
    }
    for (auto& [ends, table] : edges) {
        p.add_edge(ends.first, ends.second, std::move(table));
    }
    return p;
}

TESSERA_INLINE index_t tofu_searcher::bytes_of_groups(const std::vector<std::vector<int>>& histories) {
    std::vector<choices> offered;
    for (const std::vector<int>& h : histories) {
        offered.push_back({h});
    }
    return problem_of(offered).cost(std::vector<choice_t>(histories.size(), 0));
}

TESSERA_INLINE std::vector<std::vector<int>>
tofu_searcher::extended(int group, const std::vector<std::vector<int>>& before) const {
    std::vector<std::vector<int>> all;
    for (const std::vector<int>& h : before) {
        const std::size_t first = all.size();
        bool any = false;
        for (const bool uneven : {false, true}) { // uneven parts only where there are no others
            for (int c = 0; c < max_loops && (!uneven || !any); ++c) {
                if (may_take(group, h, c, uneven)) {
                    all.push_back(h);
                    all.back().push_back(c);
                }
            }
            any = all.size() > first;
        }
        if (all.size() == first) {
            all.push_back(h);
            all.back().push_back(copied);
        }
    }
    return all;
}

TESSERA_INLINE std::vector<std::vector<int>> tofu_searcher::neighbours(int group, const std::vector<int>& h,
                                                                       int i) const {
    std::vector<std::vector<int>> all;
    std::vector<int> other(h.begin(), h.begin() + i);
    for (std::vector<int>& next : extended(group, {other})) {
        bool may = next != std::vector<int>(h.begin(), h.begin() + i + 1);
        for (std::size_t k = next.size(); may && k < h.size(); ++k) {
            may = h[k] == copied || may_take(group, next, h[k], false);
            next.push_back(h[k]);
        }
        if (may) {
            all.push_back(next);
        }
    }
    return all;
}

TESSERA_INLINE configuration tofu_searcher::configuration_with(int op, const std::vector<int>& h,
                                                               std::vector<index_t>& pool) const {
    return configuration_of(desc(op), loops_of(op, h), traffic_.steps(), pool);
}

TESSERA_INLINE tofu_result tofu_searcher::result_of(const std::vector<std::vector<int>>& histories) {
    chosen_ = histories;
    tofu_result r;
    r.exact = false; // nobody says so
    finish(r, bytes_of_groups(histories));
    return r;
}

TESSERA_INLINE bool tofu_searcher::may_take(int group, const std::vector<int>& h, int choice, bool uneven) const {
    const int factor = traffic_.steps().factors[h.size()];
    const int parts = parts_of(h, traffic_.steps().factors, choice);
    bool may = true;
    for (const int op : coarse_.ops[to_size(group)]) {
        const description& d = desc(op);
        const int most = by_element(group) ? d.operands[d.output()].extents.rank : d.loops.size();
        may = may && choice < most &&
              may_split(d, loop_of_choice(d, by_element(group), choice), o_.splits, parts, factor, uneven);
    }
    return may;
}

TESSERA_INLINE std::vector<int> tofu_searcher::loops_of(int op, const std::vector<int>& h) const {
    std::vector<int> loops;
    for (const int c : h) {
        loops.push_back(loop_of_choice(desc(op), by_element(coarse_.group_of[to_size(op)]), c));
    }
    return loops;
}

TESSERA_INLINE index_t tofu_searcher::unary(int group, const std::vector<int>& h) {
    const graph_view& g = traffic_.network();
    index_t sum = 0;
    std::vector<int> seen;
    for (const int op : coarse_.ops[to_size(group)]) {
        const std::vector<int> loops = loops_of(op, h);
        sum += traffic_.inside(op, loops);
        for (int o = 0; o < desc(op).operands.size(); ++o) {
            const operand& x = desc(op).operands[o];
            const int p = x.kind == operand_kind::parameter ? g.ops[op].parameters[x.slot] : -1;
            if (p >= 0 && g.parameters[p].trained && std::find(seen.begin(), seen.end(), p) == seen.end()) {
                seen.push_back(p);
                sum += traffic_.parameter(op, o, loops);
            }
        }
    }
    return sum;
}

TESSERA_INLINE index_t tofu_searcher::solve(const std::vector<choices>& offered, tofu_result& r) {
    const additive_problem p = problem_of(offered);
    variable_elimination_solution found = eliminate_variables(p, o_.exact);
    r.width = std::max(r.width, found.order.width);
    if (found.state != status::solved) { // too wide: from the first choice of each, one group at a time
        r.exact = false;
        static_cast<solution&>(found) = descend(p, std::vector<choice_t>(offered.size(), 0));
    }
    for (std::size_t k = 0; k < offered.size(); ++k) {
        chosen_[k] = offered[k][found.choice[k]];
    }
    return found.cost;
}

TESSERA_INLINE void tofu_searcher::finish(tofu_result& r, index_t bytes) const {
    const graph_view& g = traffic_.network();
    r.steps = traffic_.steps();
    r.bytes = bytes;
    r.groups = static_cast<int>(coarse_.ops.size());
    for (int op = 0; op < g.op_count; ++op) {
        r.histories.push_back(loops_of(op, chosen_[to_size(coarse_.group_of[to_size(op)])]));
        r.best.ops.push_back(configuration_of(desc(op), r.histories.back(), r.steps, r.best.pool));
    }
    if (o_.traffic.slices_parameters) {
        r.best.sync = schedule::zero(schedule::gradients_of(g), 3);
    }
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE tofu_result tofu_search(const graph_view& g, const tofu_steps& steps, const tofu_options& o) {
    return detail::tofu_searcher(g, steps, o).recursive();
}

TESSERA_INLINE tofu_result tofu_by_both_counts(const graph_view& g, const tofu_steps& steps, tofu_options o) {
    o.traffic.count = tofu_count::groups;
    detail::tofu_searcher by_groups(g, steps, o);
    tofu_result other = by_groups.recursive();
    o.traffic.count = tofu_count::devices;
    detail::tofu_searcher by_devices(g, steps, o);
    tofu_result r = by_devices.recursive();
    std::vector<index_t> rises;
    index_t bytes = 0;
    for (int i = 1; i <= steps.count(); ++i) {
        std::vector<std::vector<int>> first;
        for (const std::vector<int>& h : by_groups.chosen()) {
            first.emplace_back(h.begin(), h.begin() + i);
        }
        const index_t after = by_devices.bytes_of_groups(first);
        rises.push_back(after - bytes);
        bytes = after;
    }
    if (bytes < r.bytes) {
        other.bytes = bytes;
        other.step_bytes = std::move(rises);
        return other;
    }
    return r;
}

TESSERA_INLINE tofu_result flat_tofu(const graph_view& g, const tofu_steps& steps, const tofu_options& o) {
    return detail::tofu_searcher(g, steps, o).flat();
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
