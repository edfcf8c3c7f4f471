// SPDX-License-Identifier: Apache-2.0
// Graphs of groups with a placement, as padded arrays for networks whose inputs have fixed shapes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/group_graph.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

namespace tessera::learned {

/// What rows of a batch are padded to.
struct graph_limits {
    int nodes = 64;
    int edges = 256; ///< between different groups, each pair once
    int devices = 4;
    /// Numbers of a node: time, bytes of output, bytes of memory, whether it is the current one, whether it is done, and its device, one-hot.
    int features() const { return 5 + devices; }
};

/// A policy's state: where all groups lie, which one is placed next, and which have been in this pass.
struct placement_state {
    std::vector<int> device;
    int current = 0;
    std::vector<char> done;
};

/// The state in which nothing is done yet.
inline placement_state first_state(std::vector<int> device) {
    placement_state s{std::move(device), 0, {}};
    s.done.assign(s.device.size(), 0);
    return s;
}

/// B rows, each a graph with a state. With N nodes, E edges and X features the arrays are those that their comments say; rows lie behind each other.
/// Padding: features, masks and gates of nodes that do not exist are 0. Edges that do not exist read node 0 and go to node N, which a network cuts off.
class graph_batch {
public:
    explicit graph_batch(const graph_limits& l) : limits_(l) {
        if (l.nodes < 1 || l.edges < 1 || l.devices < 1) {
            throw error("tessera: graphs are padded to " + std::to_string(l.nodes) + " nodes, " +
                        std::to_string(l.edges) + " edges and " + std::to_string(l.devices) +
                        " devices; give at least 1 of each");
        }
    }

    std::vector<float> features;       ///< [B,N,X]; time and bytes are divided by the most of any node of the graph
    std::vector<float> has_parents;    ///< [B,N,1]: 1 where some edge comes in
    std::vector<float> has_children;   ///< [B,N,1]: 1 where some edge goes out
    std::vector<std::int32_t> from;    ///< [B,E]: the end that an edge leaves, to read
    std::vector<std::int32_t> to;      ///< [B,E]: the end that it enters, to read
    std::vector<std::int32_t> into;    ///< [B,E]: the end that it enters, to add to
    std::vector<std::int32_t> back;    ///< [B,E]: the end that it leaves, to add to
    std::vector<std::int32_t> current; ///< [B,1]
    std::vector<float> ancestors;      ///< [B,1,N]: 1 for those of the current node
    std::vector<float> descendants;    ///< [B,1,N]
    std::vector<float> others;         ///< [B,1,N]: 1 for nodes that are neither, the current one left out

    int size() const { return size_; }
    const graph_limits& limits() const { return limits_; }

    void clear() {
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

    /// Throws tessera::error where the graph is larger than the limits, or the state does not fit the graph.
    void add(const group_graph& g, const placement_state& s) {
        check(g, s);
        add_features(g, s);
        add_edges(g);
        add_masks(g, s.current);
        ++size_;
    }

    /// Rows without any node, until there are so many.
    void pad_to(int rows) {
        size_ = std::max(size_, rows);
        const std::size_t b = at(size_);
        const std::size_t nodes = b * at(limits_.nodes);
        features.resize(nodes * at(limits_.features()), 0);
        for (std::vector<float>* x : {&has_parents, &has_children, &ancestors, &descendants, &others}) {
            x->resize(nodes, 0);
        }
        from.resize(b * at(limits_.edges), 0);
        to.resize(b * at(limits_.edges), 0);
        into.resize(b * at(limits_.edges), limits_.nodes);
        back.resize(b * at(limits_.edges), limits_.nodes);
        current.resize(b, 0);
    }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    void check(const group_graph& g, const placement_state& s) const {
        if (g.count() < 1 || g.count() > limits_.nodes || g.edges.size() > at(limits_.edges)) {
            throw error("tessera: a graph of " + std::to_string(g.count()) + " groups and " +
                        std::to_string(g.edges.size()) + " edges does not fit in a batch of graphs of 1 to " +
                        std::to_string(limits_.nodes) + " groups and at most " + std::to_string(limits_.edges) +
                        " edges; make fewer groups, or a larger policy");
        }
        const bool fits = s.device.size() == at(g.count()) && s.done.size() == at(g.count()) && s.current >= 0 &&
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

    void add_features(const group_graph& g, const placement_state& s) {
        const auto most = [](const std::vector<double>& column) {
            const double m = *std::max_element(column.begin(), column.end());
            return m > 0 ? m : 1.0;
        };
        const double work = most(g.work);
        const double output = most(g.output_bytes);
        const double memory = most(g.memory_bytes);
        const std::size_t begin = features.size();
        const auto width = at(limits_.features());
        features.resize(begin + at(limits_.nodes) * width, 0);
        for (std::size_t v = 0; v < at(g.count()); ++v) {
            float* x = &features[begin + v * width];
            x[0] = static_cast<float>(g.work[v] / work);
            x[1] = static_cast<float>(g.output_bytes[v] / output);
            x[2] = static_cast<float>(g.memory_bytes[v] / memory);
            x[3] = static_cast<int>(v) == s.current ? 1.0F : 0.0F;
            x[4] = s.done[v] != 0 ? 1.0F : 0.0F;
            x[5 + s.device[v]] = 1;
        }
    }

    void add_edges(const group_graph& g) {
        const std::size_t nodes = has_parents.size();
        has_parents.resize(nodes + at(limits_.nodes), 0);
        has_children.resize(nodes + at(limits_.nodes), 0);
        for (const group_edge& e : g.edges) {
            from.push_back(e.from);
            to.push_back(e.to);
            into.push_back(e.to);
            back.push_back(e.from);
            has_parents[nodes + at(e.to)] = 1;
            has_children[nodes + at(e.from)] = 1;
        }
        const std::size_t all = at(size_ + 1) * at(limits_.edges);
        from.resize(all, 0);
        to.resize(all, 0);
        into.resize(all, limits_.nodes);
        back.resize(all, limits_.nodes);
    }

    void add_masks(const group_graph& g, int now) {
        current.push_back(now);
        const std::size_t begin = ancestors.size();
        for (std::vector<float>* mask : {&ancestors, &descendants, &others}) {
            mask->resize(begin + at(limits_.nodes), 0);
        }
        for (int v = 0; v < g.count(); ++v) {
            const bool before = g.is_ancestor(v, now);
            const bool after = g.is_ancestor(now, v);
            ancestors[begin + at(v)] = before ? 1.0F : 0.0F;
            descendants[begin + at(v)] = after ? 1.0F : 0.0F;
            others[begin + at(v)] = !before && !after && v != now ? 1.0F : 0.0F;
        }
    }

    graph_limits limits_;
    int size_ = 0;
};

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
