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

TESSERA_INLINE pipedream_planner::pipedream_planner(const cost_graph& g, const pipedream_options& o)
    : g_(g), o_(o), order_(g), ends_(plain_ends(g, order_)), place_(g.nodes.size(), -1), sets_(std::vector<int>{}),
      wide_(to_size(o.machines) + 1) {
    for (const int v : order_.order) {
        if (ends_[to_size(v)] == 0) {
            place_[to_size(v)] = static_cast<int>(planned_.size());
            planned_.push_back(v);
        }
    }
    if (planned_.empty()) {
        all_cuts_ = true;
        return;
    }
    std::vector<std::pair<int, int>> edges;
    for (const cost_edge& e : g.edges) {
        if (place_[to_size(e.from)] >= 0 && place_[to_size(e.to)] >= 0) {
            edges.push_back({place_[to_size(e.from)], place_[to_size(e.to)]});
        }
    }
    sets_ = downsets(static_cast<int>(planned_.size()), edges, o.most_downsets);
    all_cuts_ = sets_.complete();
    if (!all_cuts_) {
        std::vector<int> line;
        for (std::size_t i = 0; i < planned_.size(); ++i) {
            line.push_back(static_cast<int>(i));
        }
        sets_ = downsets(line);
    }
}

TESSERA_INLINE pipedream_plan pipedream_planner::plan() {
    pipedream_plan plan;
    plan.stage.assign(g_.nodes.size(), 0);
    plan.replicas = {1};
    plan.all_cuts = all_cuts_;
    if (!planned_.empty()) {
        sum_downsets();
        find_best();
        read_stages(plan);
        place_ends(plan.stage);
    }
    return plan;
}

/// Whether what is not in the set reads the output of a node.
TESSERA_INLINE bool pipedream_planner::is_read_outside(int place, int set) const {
    const std::size_t v = to_size(planned_[to_size(place)]);
    for (int k = order_.first_out[v]; k < order_.first_out[v + 1]; ++k) {
        const int w = place_[to_size(g_.edges[to_size(order_.out[to_size(k)])].to)];
        if (w >= 0 && !sets_.contains(set, w)) {
            return true;
        }
    }
    return false;
}

TESSERA_INLINE void pipedream_planner::sum_downsets() {
    seconds_.assign(sets_.count(), 0);
    parameters_ = sent_ = seconds_;
    for (std::size_t j = 1; j < sets_.count(); ++j) {
        const int set = static_cast<int>(j);
        const downsets::below& b = *sets_.begin_below(set);
        const cost_node& n = g_.nodes[to_size(planned_[to_size(b.without)])];
        const auto ns = static_cast<double>(n.times.front().forward + n.times.front().backward);
        seconds_[j] = seconds_[to_size(b.set)] + ns * 1e-9;
        parameters_[j] = parameters_[to_size(b.set)] + static_cast<double>(n.parameter_bytes);
        for (int v = 0; v < static_cast<int>(planned_.size()); ++v) {
            const bool is_sent = sets_.contains(set, v) && is_read_outside(v, set);
            sent_[j] += is_sent ? static_cast<double>(g_.nodes[to_size(planned_[to_size(v)])].output_bytes) : 0;
        }
    }
}

/// Of every downset and number of machines the plan whose slowest stage is the fastest: every way to cut off its last
/// stage, by each number of replicas.
TESSERA_INLINE void pipedream_planner::find_best() {
    best_.assign(sets_.count() * wide_, std::numeric_limits<double>::infinity());
    from_.assign(sets_.count() * wide_, {0, 0});
    best_[0] = 0;
    std::vector<int> seen(sets_.count(), 0);
    std::vector<int> todo;
    for (int j = 1; j < static_cast<int>(sets_.count()); ++j) {
        todo.assign(1, j);
        while (!todo.empty()) {
            const int upper = todo.back();
            todo.pop_back();
            for (const downsets::below* b = sets_.begin_below(upper); b != sets_.end_below(upper); ++b) {
                if (seen[to_size(b->set)] != j) {
                    seen[to_size(b->set)] = j;
                    todo.push_back(b->set);
                    end_with(j, b->set);
                }
            }
        }
    }
}

TESSERA_INLINE void pipedream_planner::end_with(int set, int before) {
    const std::size_t j = to_size(set);
    const std::size_t k = to_size(before);
    const bool counted = o_.formula == pipedream_formula::paper && k > 0;
    const double moved = counted ? 2 * sent_[k] / o_.bytes_per_second : 0;
    const int most = o_.replicate ? o_.machines : 1;
    for (int r = 1; r <= most; ++r) {
        const double stage = pipedream_stage(o_, std::max(0.0, seconds_[j] - seconds_[k]),
                                             std::max(0.0, parameters_[j] - parameters_[k]), r);
        for (int m = k == 0 ? 0 : 1; m + r <= o_.machines; ++m) {
            const double value = std::max({best(k, to_size(m)), moved, stage});
            if (value < best(j, to_size(m + r))) {
                best(j, to_size(m + r)) = value;
                from_[j * wide_ + to_size(m + r)] = {before, r};
            }
        }
    }
}

TESSERA_INLINE void pipedream_planner::read_stages(pipedream_plan& plan) const {
    const double* whole = &best_[to_size(sets_.full()) * wide_]; // by machines
    std::size_t machines = 1;
    for (std::size_t m = 1; m < wide_; ++m) {
        machines = whole[m] < whole[machines] ? m : machines;
    }
    plan.seconds = whole[machines];
    plan.data_parallel = pipedream_stage(o_, seconds_.back(), parameters_.back(), o_.machines);
    plan.replicas.clear();
    std::vector<int> stage_back(planned_.size(), 0);
    for (int j = sets_.full(); j != 0;) {
        const auto [k, r] = from_[to_size(j) * wide_ + machines];
        for (std::size_t v = 0; v < planned_.size(); ++v) {
            const int node = static_cast<int>(v);
            if (sets_.contains(j, node) && !sets_.contains(k, node)) {
                stage_back[v] = static_cast<int>(plan.replicas.size());
            }
        }
        plan.replicas.push_back(r);
        machines -= to_size(r);
        j = k;
    }
    std::reverse(plan.replicas.begin(), plan.replicas.end());
    for (std::size_t v = 0; v < planned_.size(); ++v) {
        plan.stage[to_size(planned_[v])] = static_cast<int>(plan.replicas.size()) - 1 - stage_back[v];
    }
}

/// The ends that were left out go to the stages of their neighbours.
TESSERA_INLINE void pipedream_planner::place_ends(assignment& stage) const {
    for (const cost_edge& e : g_.edges) {
        if (ends_[to_size(e.to)] != 0) {
            stage[to_size(e.to)] = std::max(stage[to_size(e.to)], stage[to_size(e.from)]);
        }
    }
    for (int v = 0; v < g_.count(); ++v) {
        const int first = order_.first_out[to_size(v)];
        if (ends_[to_size(v)] != 0 && first < order_.first_out[to_size(v) + 1]) {
            int earliest = stage[to_size(g_.edges[to_size(order_.out[to_size(first)])].to)];
            for (int k = first; k < order_.first_out[to_size(v) + 1]; ++k) {
                earliest = std::min(earliest, stage[to_size(g_.edges[to_size(order_.out[to_size(k)])].to)]);
            }
            stage[to_size(v)] = earliest;
        }
    }
}

} // namespace tessera::search::placement::detail

namespace tessera::search::placement {

TESSERA_INLINE pipedream_plan plan_pipedream(const cost_graph& g, const pipedream_options& o) {
    if (o.machines < 1 || o.machines > 1024 || !(o.bytes_per_second > 0)) {
        throw error("tessera: a plan for " + std::to_string(o.machines) + " machines linked with " +
                    fixed_text(o.bytes_per_second) + " bytes/s; give 1 to 1024, and a bandwidth above 0");
    }
    return detail::pipedream_planner(g, o).plan();
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
