// SPDX-License-Identifier: Apache-2.0
// Bodies of gdp_inputs.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/gdp_inputs.hpp"

namespace tessera::learned::detail {

TESSERA_INLINE std::vector<double> levels(const evaluator& e, bool back) {
    const auto& g = e.graph();
    std::vector<double> level(g.nodes.size(), 0);
    std::vector<int> order = e.order().order;
    if (back) {
        std::reverse(order.begin(), order.end());
    }
    const std::vector<int>& first = back ? e.order().first_out : e.order().first_in;
    const std::vector<int>& edges = back ? e.order().out : e.order().in;
    for (const int v : order) {
        const auto at = to_size(v);
        for (int k = first[at]; k < first[at + 1]; ++k) {
            const auto& x = g.edges[to_size(edges[to_size(k)])];
            const int before = back ? x.to : x.from;
            level[at] = std::max(level[at], level[to_size(before)] + work_of(e, before));
        }
    }
    return level;
}

TESSERA_INLINE void standardize(std::vector<double>& list) {
    double mean = 0;
    double square = 0;
    for (const double x : list) {
        mean += x / static_cast<double>(list.size());
    }
    for (const double x : list) {
        square += (x - mean) * (x - mean) / static_cast<double>(list.size());
    }
    for (double& x : list) {
        x = square > 1e-12 * mean * mean ? (x - mean) / std::sqrt(square) : 0;
    }
}

TESSERA_INLINE std::vector<std::vector<double>> features_of(const evaluator& e) {
    const auto& g = e.graph();
    std::vector<std::vector<double>> all(gdp_features, std::vector<double>(g.nodes.size(), 0));
    for (int v = 0; v < g.count(); ++v) {
        const auto at = to_size(v);
        const auto& n = g.nodes[at];
        all[0][at] = work_of(e, v);
        all[1][at] = static_cast<double>(n.output_bytes);
        all[2][at] = static_cast<double>(n.resident_bytes);
        all[3][at] = n.parameter_bytes > 0 ? 1 : 0;
        all[4][at] = e.order().first_out[at + 1] - e.order().first_out[at];
        all[5][at] = e.order().first_in[at + 1] - e.order().first_in[at];
    }
    all[6] = levels(e, false);
    all[7] = levels(e, true);
    for (std::vector<double>& column : all) {
        standardize(column);
    }
    return all;
}

TESSERA_INLINE void require_fits(const gdp_shape& s, const evaluator& e) {
    const auto refuse = [&](const std::string& what) {
        throw error("tessera: GDP: the graph '" + e.graph().name + "' " + what);
    };
    if (s.features != gdp_features) {
        throw error("tessera: GDP: a policy for " + std::to_string(s.features) + " numbers of a node; there are " +
                    std::to_string(gdp_features));
    }
    if (e.graph().count() > s.nodes) {
        refuse("has " + std::to_string(e.graph().count()) + " nodes and the policy takes " + std::to_string(s.nodes) +
               "; make gdp_shape::nodes larger");
    }
    if (2 * e.graph().edges.size() > to_size(s.edges)) {
        refuse("has " + std::to_string(e.graph().edges.size()) + " edges, in both directions twice as many, and the " +
               "policy takes " + std::to_string(s.edges) + "; make gdp_shape::edges larger");
    }
    if (e.devices() != s.devices) {
        refuse("is to be placed on " + std::to_string(e.devices()) + " devices and the policy chooses among " +
               std::to_string(s.devices) + "; make gdp_shape::devices as many");
    }
}

} // namespace tessera::learned::detail

namespace tessera::learned {

TESSERA_INLINE gdp_inputs gdp_inputs_of(const gdp_shape& s, search::placement::evaluator& e, double prior) {
    detail::require_fits(s, e);
    const auto& g = e.graph();
    const int n = g.count();
    gdp_inputs x;
    x.features.assign(to_size(s.nodes * s.features), 0);
    x.senders.assign(to_size(s.edges), 0);
    x.receivers.assign(to_size(s.edges), s.nodes);
    x.shares.assign(to_size(s.nodes), 0);
    x.weights.assign(to_size(s.nodes), 0);
    x.prior.assign(to_size(s.nodes * s.devices), 0);
    x.leader.assign(to_size(n), 0);
    const std::vector<std::vector<double>> features = detail::features_of(e);
    const search::placement::grouping groups = search::placement::required_groups(g, e.order());
    std::vector<int> first_row(to_size(groups.count), -1);
    for (int i = 0; i < n; ++i) {
        const int v = e.order().order[to_size(i)];
        for (int k = 0; k < s.features; ++k) {
            x.features[to_size(i * s.features + k)] = static_cast<float>(features[to_size(k)][to_size(v)]);
        }
        x.shares[to_size(i)] = 1.0F / static_cast<float>(n);
        int& leader = first_row[to_size(groups.of[to_size(v)])];
        leader = leader < 0 ? i : leader;
        x.leader[to_size(i)] = leader;
    }
    for (int i = 0; i < n; ++i) { // a row that follows another chooses nothing
        x.weights[to_size(i)] =
            x.leader[to_size(i)] == i ? static_cast<float>(s.nodes) / static_cast<float>(groups.count) : 0.0F;
    }
    for (std::size_t k = 0; k < g.edges.size(); ++k) {
        const int from = e.order().position[to_size(g.edges[k].from)];
        const int to = e.order().position[to_size(g.edges[k].to)];
        x.senders[2 * k] = x.receivers[2 * k + 1] = from;
        x.senders[2 * k + 1] = x.receivers[2 * k] = to;
    }
    const int first_seen = s.segment - s.seen(); // relative to a segment's first row
    for (int c = 0; c < s.segments(); ++c) {
        for (int h = 0; h < s.heads; ++h) {
            for (int k = 0; k < s.seen(); ++k) {
                const int row = c * s.segment + first_seen + k;
                x.visible.push_back(row >= 0 && row < n ? 0.0F : -1e9F);
            }
        }
    }
    if (prior < 0 || prior > 0) {
        const search::placement::found start = search::placement::equal_times(e);
        for (int i = 0; i < n; ++i) {
            const int device = start.where[to_size(e.order().order[to_size(i)])];
            x.prior[to_size(i * s.devices + device)] = static_cast<float>(prior);
        }
    }
    return x;
}

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
