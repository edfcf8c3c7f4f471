// SPDX-License-Identifier: Apache-2.0
// Bodies of cost_graph.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/cost_graph.hpp"

namespace tessera::search::placement::detail {

TESSERA_INLINE void refuse_graph(const cost_graph& g, const std::string& what) {
    throw error("tessera: cost graph '" + g.name + "': " + what);
}

TESSERA_INLINE std::string text_of_node(const cost_graph& g, int v) {
    return "node " + std::to_string(v) + " '" + g.nodes[to_size(v)].name + "'";
}

TESSERA_INLINE void check_range(const cost_graph& g, int v, const char* what, index_t value, index_t least,
                                index_t most) {
    if (value < least || value > most) {
        refuse_graph(g, text_of_node(g, v) + " has " + what + " " + std::to_string(value) + "; give one from " +
                            std::to_string(least) + " to " + std::to_string(most));
    }
}

TESSERA_INLINE void check_node(const cost_graph& g, int v) {
    const cost_node& n = g.nodes[to_size(v)];
    if (n.times.empty()) {
        refuse_graph(g, text_of_node(g, v) + " has no times; give one for all kinds of devices, or one for each");
    }
    bool any = false;
    for (const task_time& t : n.times) {
        check_range(g, v, "a forward time of", t.forward, unsupported, longest_task);
        check_range(g, v, "a backward time of", t.backward, unsupported, longest_task);
        if ((t.forward == unsupported) != (t.backward == unsupported)) {
            refuse_graph(g,
                         text_of_node(g, v) + " runs forward or backward alone; a kind of device runs both, or none");
        }
        any = any || t.forward != unsupported;
    }
    if (!any) {
        refuse_graph(g, text_of_node(g, v) + " runs on no kind of device; give a time for one");
    }
    check_range(g, v, "bytes of output", n.output_bytes, 0, largest_memory);
    check_range(g, v, "bytes of parameters", n.parameter_bytes, 0, largest_memory);
    check_range(g, v, "bytes that are held", n.resident_bytes, 0, largest_memory);
    check_range(g, v, "the group", n.group, -1, INT32_MAX);
}

} // namespace tessera::search::placement::detail

namespace tessera::search::placement {

TESSERA_INLINE void require(const cost_graph& g) {
    if (g.nodes.empty() || g.nodes.size() > to_size(most_nodes) || g.edges.size() > to_size(most_edges)) {
        detail::refuse_graph(g, "has " + std::to_string(g.nodes.size()) + " nodes and " +
                                    std::to_string(g.edges.size()) + " edges; there may be 1 to " +
                                    std::to_string(most_nodes) + " nodes and " + std::to_string(most_edges) + " edges");
    }
    for (int v = 0; v < g.count(); ++v) {
        detail::check_node(g, v);
    }
    for (std::size_t i = 0; i < g.edges.size(); ++i) {
        const cost_edge& e = g.edges[i];
        const std::string who = "edge " + std::to_string(i) + " from node " + std::to_string(e.from) + " to node " +
                                std::to_string(e.to) + " ";
        if (e.from < 0 || e.from >= g.count() || e.to < 0 || e.to >= g.count()) {
            detail::refuse_graph(g, who + "joins a node that does not exist; there are " + std::to_string(g.count()));
        }
        if (e.from == e.to) {
            detail::refuse_graph(g, who + "joins a node to itself; leave it out");
        }
        if (e.bytes < 0 || e.bytes > largest_memory) {
            detail::refuse_graph(g, who + "carries " + std::to_string(e.bytes) + " bytes; give 0 to " +
                                        std::to_string(largest_memory));
        }
    }
}

TESSERA_INLINE graph_order::graph_order(const cost_graph& g) {
    require(g);
    first_out = starts(g, [](const cost_edge& e) { return e.from; });
    first_in = starts(g, [](const cost_edge& e) { return e.to; });
    out.resize(g.edges.size());
    in.resize(g.edges.size());
    std::vector<int> next_out(first_out.begin(), first_out.end());
    std::vector<int> next_in(first_in.begin(), first_in.end());
    for (int e = 0; e < static_cast<int>(g.edges.size()); ++e) {
        out[to_size(next_out[to_size(g.edges[to_size(e)].from)]++)] = e;
        in[to_size(next_in[to_size(g.edges[to_size(e)].to)]++)] = e;
    }
    sort(g);
}

TESSERA_INLINE void graph_order::sort(const cost_graph& g) {
    std::vector<int> waits(g.nodes.size());
    std::priority_queue<int, std::vector<int>, std::greater<>> free;
    for (int v = 0; v < g.count(); ++v) {
        waits[to_size(v)] = first_in[to_size(v) + 1] - first_in[to_size(v)];
        if (waits[to_size(v)] == 0) {
            free.push(v);
        }
    }
    position.assign(g.nodes.size(), -1);
    while (!free.empty()) {
        const int v = free.top();
        free.pop();
        position[to_size(v)] = static_cast<int>(order.size());
        order.push_back(v);
        for (int k = first_out[to_size(v)]; k < first_out[to_size(v) + 1]; ++k) {
            const int w = g.edges[to_size(out[to_size(k)])].to;
            if (--waits[to_size(w)] == 0) {
                free.push(w);
            }
        }
    }
    if (order.size() != g.nodes.size()) {
        refuse_cycle(g);
    }
}

TESSERA_INLINE void graph_order::refuse_cycle(const cost_graph& g) const {
    int v = 0;
    while (position[to_size(v)] >= 0) {
        ++v;
    }
    std::vector<int> step(g.nodes.size(), -1);
    std::vector<int> way;
    while (step[to_size(v)] < 0) {
        step[to_size(v)] = static_cast<int>(way.size());
        way.push_back(v);
        int k = first_in[to_size(v)];
        while (position[to_size(g.edges[to_size(in[to_size(k)])].from)] >= 0) {
            ++k;
        }
        v = g.edges[to_size(in[to_size(k)])].from;
    }
    std::string names = "'" + g.nodes[to_size(v)].name + "'";
    const int first = step[to_size(v)];
    for (int i = static_cast<int>(way.size()) - 1, shown = 0; i >= first; --i) {
        if (++shown <= 8 || i == first) {
            names += " -> '" + g.nodes[to_size(way[to_size(i)])].name + "'";
        } else if (shown == 9) {
            names += " -> ...";
        }
    }
    detail::refuse_graph(g, "has a cycle: " + names + "; take one of its edges out");
}

TESSERA_INLINE const task_time& time_on(const cost_node& n, int device_class) {
    return n.times.size() == 1 ? n.times.front() : n.times[to_size(device_class)];
}

TESSERA_INLINE void require_times(const cost_graph& g, const device_graph& machine) {
    for (int v = 0; v < g.count(); ++v) {
        const std::size_t given = g.nodes[to_size(v)].times.size();
        if (given != 1 && given != machine.classes.size()) {
            detail::refuse_graph(g, detail::text_of_node(g, v) + " has times for " + std::to_string(given) +
                                        " kinds of devices and the machine '" + machine.name + "' has " +
                                        std::to_string(machine.classes.size()) + "; give one time, or one for each");
        }
    }
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
