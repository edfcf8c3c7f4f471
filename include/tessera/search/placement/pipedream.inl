// SPDX-License-Identifier: Apache-2.0
// Bodies of pipedream.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/pipedream.hpp"

namespace tessera::search::placement {

TESSERA_INLINE double pipedream_stage(const pipedream_options& o, double seconds, double parameter_bytes,
                                      int replicas) {
    const double m = replicas;
    const double sync = (m - 1) * parameter_bytes / o.bytes_per_second;
    return o.formula == pipedream_formula::paper ? std::max(seconds, 2 * sync) / m : (seconds + 4 * sync / m) / m;
}

} // namespace tessera::search::placement

namespace tessera::search::placement::detail {

TESSERA_INLINE std::vector<char> plain_ends(const cost_graph& g, const graph_order& order) {
    std::vector<char> out(g.nodes.size(), 0);
    for (int v = 0; v < g.count(); ++v) {
        const cost_node& n = g.nodes[to_size(v)];
        const bool source = order.first_in[to_size(v)] == order.first_in[to_size(v) + 1];
        const bool sink = order.first_out[to_size(v)] == order.first_out[to_size(v) + 1];
        out[to_size(v)] =
            (source != sink) && n.times.front().forward + n.times.front().backward == 0 && n.parameter_bytes == 0 ? 1
                                                                                                                  : 0;
    }
    return out;
}

} // namespace tessera::search::placement::detail

namespace tessera::search::placement {

TESSERA_INLINE pipedream_plan plan_pipedream(const cost_graph& g, const pipedream_options& o) {
    const graph_order order(g);
    if (o.machines < 1 || o.machines > 1024 || !(o.bytes_per_second > 0)) {
        throw error("tessera: a plan for " + std::to_string(o.machines) + " machines linked with " +
                    fixed_text(o.bytes_per_second) + " bytes/s; give 1 to 1024, and a bandwidth above 0");
    }
    const std::vector<char> ends = detail::plain_ends(g, order);
    std::vector<int> number(g.nodes.size(), -1);
    std::vector<int> kept;
    for (const int v : order.order) {
        if (ends[to_size(v)] == 0) {
            number[to_size(v)] = static_cast<int>(kept.size());
            kept.push_back(v);
        }
    }
    std::vector<std::pair<int, int>> edges;
    for (const cost_edge& e : g.edges) {
        if (number[to_size(e.from)] >= 0 && number[to_size(e.to)] >= 0) {
            edges.push_back({number[to_size(e.from)], number[to_size(e.to)]});
        }
    }
    pipedream_plan plan;
    plan.stage.assign(g.nodes.size(), 0);
    plan.replicas = {1};
    if (kept.empty()) {
        plan.all_cuts = true;
        return plan;
    }
    downsets sets(static_cast<int>(kept.size()), edges, o.most_downsets);
    plan.all_cuts = sets.complete();
    if (!plan.all_cuts) {
        std::vector<int> line;
        for (std::size_t i = 0; i < kept.size(); ++i) {
            line.push_back(static_cast<int>(i));
        }
        sets = downsets(line);
    }
    detail::pipedream_table t;
    const std::size_t count = sets.count();
    const std::size_t wide = to_size(o.machines) + 1;
    t.seconds.assign(count, 0);
    t.parameters = t.sent = t.seconds;
    for (std::size_t j = 1; j < count; ++j) {
        const downsets::below& b = *sets.begin_below(static_cast<int>(j));
        const cost_node& n = g.nodes[to_size(kept[to_size(b.without)])];
        const auto ns = static_cast<double>(n.times.front().forward + n.times.front().backward);
        t.seconds[j] = t.seconds[to_size(b.set)] + ns * 1e-9;
        t.parameters[j] = t.parameters[to_size(b.set)] + static_cast<double>(n.parameter_bytes);
        for (std::size_t v = 0; v < kept.size(); ++v) {
            bool leaves = false;
            for (int k = order.first_out[to_size(kept[v])]; k < order.first_out[to_size(kept[v]) + 1]; ++k) {
                const int w = number[to_size(g.edges[to_size(order.out[to_size(k)])].to)];
                leaves = leaves || (w >= 0 && !sets.contains(static_cast<int>(j), w));
            }
            const bool inside = sets.contains(static_cast<int>(j), static_cast<int>(v));
            t.sent[j] += leaves && inside ? static_cast<double>(g.nodes[to_size(kept[v])].output_bytes) : 0;
        }
    }
    t.best.assign(count * wide, std::numeric_limits<double>::infinity());
    t.from.assign(count * wide, {0, 0});
    t.best[0] = 0;
    std::vector<int> seen(count, 0);
    std::vector<int> todo;
    const int most = o.replicate ? o.machines : 1;
    for (std::size_t j = 1; j < count; ++j) {
        todo.assign(1, static_cast<int>(j));
        while (!todo.empty()) {
            const int upper = todo.back();
            todo.pop_back();
            for (const downsets::below* b = sets.begin_below(upper); b != sets.end_below(upper); ++b) {
                const std::size_t k = to_size(b->set);
                if (seen[k] == static_cast<int>(j)) {
                    continue;
                }
                seen[k] = static_cast<int>(j);
                todo.push_back(b->set);
                const bool counted = o.formula == pipedream_formula::paper && k > 0;
                const double moved = counted ? 2 * t.sent[k] / o.bytes_per_second : 0;
                for (int r = 1; r <= most; ++r) {
                    const double stage = pipedream_stage(o, std::max(0.0, t.seconds[j] - t.seconds[k]),
                                                         std::max(0.0, t.parameters[j] - t.parameters[k]), r);
                    for (int before = k == 0 ? 0 : 1; before + r <= o.machines; ++before) {
                        const double value = std::max({t.best[k * wide + to_size(before)], moved, stage});
                        double& best = t.best[j * wide + to_size(before + r)];
                        if (value < best) {
                            best = value;
                            t.from[j * wide + to_size(before + r)] = {b->set, r};
                        }
                    }
                }
            }
        }
    }
    std::size_t machines = 1;
    for (std::size_t m = 1; m < wide; ++m) {
        machines = t.best[(count - 1) * wide + m] < t.best[(count - 1) * wide + machines] ? m : machines;
    }
    plan.seconds = t.best[(count - 1) * wide + machines];
    plan.data_parallel = pipedream_stage(o, t.seconds.back(), t.parameters.back(), o.machines);
    plan.replicas.clear();
    std::vector<int> stage_back(kept.size(), 0);
    for (int j = sets.full(); j != 0;) {
        const auto [k, r] = t.from[to_size(j) * wide + machines];
        for (std::size_t v = 0; v < kept.size(); ++v) {
            const int node = static_cast<int>(v);
            if (sets.contains(j, node) && !sets.contains(k, node)) {
                stage_back[v] = static_cast<int>(plan.replicas.size());
            }
        }
        plan.replicas.push_back(r);
        machines -= to_size(r);
        j = k;
    }
    std::reverse(plan.replicas.begin(), plan.replicas.end());
    const int stages = static_cast<int>(plan.replicas.size());
    for (std::size_t v = 0; v < kept.size(); ++v) {
        plan.stage[to_size(kept[v])] = stages - 1 - stage_back[v];
    }
    for (const cost_edge& e : g.edges) { // ends that were left out
        if (ends[to_size(e.to)] != 0) {
            plan.stage[to_size(e.to)] = std::max(plan.stage[to_size(e.to)], plan.stage[to_size(e.from)]);
        }
    }
    for (int v = 0; v < g.count(); ++v) {
        const int first = order.first_out[to_size(v)];
        if (ends[to_size(v)] != 0 && first < order.first_out[to_size(v) + 1]) {
            int earliest = stages - 1;
            for (int k = first; k < order.first_out[to_size(v) + 1]; ++k) {
                earliest = std::min(earliest, plan.stage[to_size(g.edges[to_size(order.out[to_size(k)])].to)]);
            }
            plan.stage[to_size(v)] = earliest;
        }
    }
    return plan;
}

TESSERA_INLINE split_problem to_split_problem(const cost_graph& g, int accelerators, double memory,
                                              double bytes_per_second) {
    split_problem p;
    p.name = g.name;
    p.memory = memory;
    p.accelerators = accelerators;
    for (int v = 0; v < g.count(); ++v) {
        const cost_node& n = g.nodes[to_size(v)];
        split_node s;
        s.id = v;
        s.name = n.name;
        s.accelerator_time = s.cpu_time =
            static_cast<double>(n.times.front().forward + n.times.front().backward) * 1e-6;
        s.size = static_cast<double>(n.resident_bytes) + static_cast<double>(n.output_bytes);
        s.output_cost = (g.backward ? 2 : 1) * static_cast<double>(n.output_bytes) / bytes_per_second * 1e3;
        s.group = n.group;
        p.nodes.push_back(std::move(s));
    }
    for (const cost_edge& e : g.edges) {
        p.edges.push_back({e.from, e.to, static_cast<double>(e.bytes)});
    }
    return p;
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
