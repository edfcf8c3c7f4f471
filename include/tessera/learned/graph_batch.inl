// SPDX-License-Identifier: Apache-2.0
// Bodies of graph_batch.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/graph_batch.hpp"

namespace tessera::learned {

TESSERA_INLINE placement_state first_state(std::vector<int> device) {
    placement_state s{std::move(device), 0, {}};
    s.done.assign(s.device.size(), 0);
    return s;
}

TESSERA_INLINE graph_batch::graph_batch(const graph_limits& l) : limits_(l) {
    if (l.nodes < 1 || l.edges < 1 || l.devices < 1) {
        throw error("tessera: graphs are padded to " + std::to_string(l.nodes) + " nodes, " + std::to_string(l.edges) +
                    " edges and " + std::to_string(l.devices) + " devices; give at least 1 of each");
    }
}

TESSERA_INLINE void graph_batch::clear() {
    features.clear();
    has_parents.clear();
    has_children.clear();
    from.clear();
    to.clear();
    into.clear();
    back.clear();
    current.clear();
    ancestors.clear();
    descendants.clear();
    others.clear();
    size_ = 0;
}

TESSERA_INLINE void graph_batch::add(const group_graph& g, const placement_state& s) {
    check(g, s);
    add_features(g, s);
    add_edges(g);
    add_masks(g, s.current);
    ++size_;
}

TESSERA_INLINE void graph_batch::pad_to(int rows) {
    size_ = std::max(size_, rows);
    const std::size_t b = to_size(size_);
    const std::size_t nodes = b * to_size(limits_.nodes);
    features.resize(nodes * to_size(limits_.features()), 0);
    for (std::vector<float>* x : {&has_parents, &has_children, &ancestors, &descendants, &others}) {
        x->resize(nodes, 0);
    }
    from.resize(b * to_size(limits_.edges), 0);
    to.resize(b * to_size(limits_.edges), 0);
    into.resize(b * to_size(limits_.edges), limits_.nodes);
    back.resize(b * to_size(limits_.edges), limits_.nodes);
    current.resize(b, 0);
}

TESSERA_INLINE void graph_batch::check(const group_graph& g, const placement_state& s) const {
    if (g.count() < 1 || g.count() > limits_.nodes || g.edges.size() > to_size(limits_.edges)) {
        throw error("tessera: a graph of " + std::to_string(g.count()) + " groups and " +
                    std::to_string(g.edges.size()) + " edges does not fit in a batch of graphs of 1 to " +
                    std::to_string(limits_.nodes) + " groups and at most " + std::to_string(limits_.edges) +
                    " edges; make fewer groups, or a larger policy");
    }
    const bool fits = s.device.size() == to_size(g.count()) && s.done.size() == to_size(g.count()) && s.current >= 0 &&
                      s.current < g.count();
    if (!fits) {
        throw error("tessera: a state of " + std::to_string(s.device.size()) + " groups whose current one is " +
                    std::to_string(s.current) + " does not belong to a graph of " + std::to_string(g.count()) +
                    " groups");
    }
    for (const int d : s.device) {
        if (d < 0 || d >= limits_.devices) {
            throw error("tessera: a group lies on device " + std::to_string(d) + "; the policy knows " +
                        std::to_string(limits_.devices) + " devices");
        }
    }
}

TESSERA_INLINE void graph_batch::add_features(const group_graph& g, const placement_state& s) {
    const auto most = [](const std::vector<double>& column) {
        const double m = *std::max_element(column.begin(), column.end());
        return m > 0 ? m : 1.0;
    };
    const double work = most(g.work);
    const double output = most(g.output_bytes);
    const double memory = most(g.memory_bytes);
    const std::size_t begin = features.size();
    const auto width = to_size(limits_.features());
    features.resize(begin + to_size(limits_.nodes) * width, 0);
    for (std::size_t v = 0; v < to_size(g.count()); ++v) {
        float* x = &features[begin + v * width];
        x[0] = static_cast<float>(g.work[v] / work);
        x[1] = static_cast<float>(g.output_bytes[v] / output);
        x[2] = static_cast<float>(g.memory_bytes[v] / memory);
        x[3] = static_cast<int>(v) == s.current ? 1.0F : 0.0F;
        x[4] = s.done[v] != 0 ? 1.0F : 0.0F;
        x[5 + s.device[v]] = 1;
    }
}

TESSERA_INLINE void graph_batch::add_edges(const group_graph& g) {
    const std::size_t nodes = has_parents.size();
    has_parents.resize(nodes + to_size(limits_.nodes), 0);
    has_children.resize(nodes + to_size(limits_.nodes), 0);
    for (const group_edge& e : g.edges) {
        from.push_back(e.from);
        to.push_back(e.to);
        into.push_back(e.to);
        back.push_back(e.from);
        has_parents[nodes + to_size(e.to)] = 1;
        has_children[nodes + to_size(e.from)] = 1;
    }
    const std::size_t all = to_size(size_ + 1) * to_size(limits_.edges);
    from.resize(all, 0);
    to.resize(all, 0);
    into.resize(all, limits_.nodes);
    back.resize(all, limits_.nodes);
}

TESSERA_INLINE void graph_batch::add_masks(const group_graph& g, int now) {
    current.push_back(now);
    const std::size_t begin = ancestors.size();
    for (std::vector<float>* mask : {&ancestors, &descendants, &others}) {
        mask->resize(begin + to_size(limits_.nodes), 0);
    }
    for (int v = 0; v < g.count(); ++v) {
        const bool before = g.is_ancestor(v, now);
        const bool after = g.is_ancestor(now, v);
        ancestors[begin + to_size(v)] = before ? 1.0F : 0.0F;
        descendants[begin + to_size(v)] = after ? 1.0F : 0.0F;
        others[begin + to_size(v)] = !before && !after && v != now ? 1.0F : 0.0F;
    }
}

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
