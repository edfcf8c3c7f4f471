// SPDX-License-Identifier: Apache-2.0
// Bodies of layer_profile.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/layer_profile.hpp"

namespace tessera::search::placement {

TESSERA_INLINE double profiled_layer::all_output_bytes() const {
    double sum = 0;
    for (const double b : output_bytes) {
        sum += b;
    }
    return sum;
}

TESSERA_INLINE int profiled_layer::item() const {
    const std::string begin = "__getitem__(";
    if (kind.compare(0, begin.size(), begin) != 0 || kind.back() != ')' || kind.size() > begin.size() + 5) {
        return -1;
    }
    int number = 0;
    for (std::size_t i = begin.size(); i + 1 < kind.size(); ++i) {
        if (kind[i] < '0' || kind[i] > '9') {
            return -1;
        }
        number = 10 * number + (kind[i] - '0');
    }
    return number;
}

TESSERA_INLINE cost_graph to_cost_graph(const layer_profile& p, const profile_options& o) {
    const auto whole = [&](const profiled_layer& l, const char* what, double x, double most) {
        if (!(x >= 0 && x <= most)) {
            throw error("tessera: profile '" + p.name + "': layer '" + l.id + "' has " + what + " " + fixed_text(x) +
                        "; give a number from 0 to " + fixed_text(most));
        }
        return static_cast<index_t>(std::llround(x));
    };
    cost_graph g;
    g.name = p.name;
    for (const profiled_layer& l : p.layers) {
        cost_node n;
        n.name = l.id + " " + l.kind;
        const bool input = l.is_input();
        const auto longest = static_cast<double>(longest_task);
        n.times = {{input ? 0 : whole(l, "a forward time in ns of", l.forward_ms * 1e6, longest),
                    input ? 0 : whole(l, "a backward time in ns of", l.backward_ms * 1e6, longest)}};
        const auto largest = static_cast<double>(largest_memory) / 64;
        n.output_bytes = input ? 0 : whole(l, "bytes of output", l.all_output_bytes(), largest);
        n.parameter_bytes = whole(l, "bytes of parameters", l.parameter_bytes, largest);
        n.resident_bytes = n.parameter_bytes * o.parameter_copies;
        g.nodes.push_back(std::move(n));
    }
    for (const auto& [from, to] : p.edges) {
        const profiled_layer& l = p.layers.at(to_size(from));
        const int item = p.layers.at(to_size(to)).item();
        const bool picks = item >= 0 && item < static_cast<int>(l.output_bytes.size());
        const double bytes = picks ? l.output_bytes[to_size(item)] : l.all_output_bytes();
        g.edges.push_back({from, to, l.is_input() ? 0 : static_cast<index_t>(std::llround(bytes))});
    }
    (void)graph_order(g);
    return g;
}

} // namespace tessera::search::placement

#include "tessera/base/end_header.inl"
