// SPDX-License-Identifier: Apache-2.0
// Bodies of family_costs.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/family_costs.hpp"

namespace tessera::learned::detail {

TESSERA_INLINE int family_writer::node(std::string name, const std::vector<int>& from, double elements, double flops,
                                       double weights) {
    double moved = 4 * (elements + weights);
    for (const int f : from) {
        moved += static_cast<double>(g_.nodes[to_size(f)].output_bytes);
    }
    const double work = std::max(flops / device_.flops, moved / device_.bytes);
    cost_node n;
    n.name = std::move(name);
    n.times = {{nanoseconds(device_.launch + work), nanoseconds(device_.launch + 2 * work)}};
    n.output_bytes = static_cast<index_t>(4 * elements);
    n.parameter_bytes = static_cast<index_t>(4 * weights);
    n.resident_bytes = 4 * n.parameter_bytes;
    const int number = g_.count();
    g_.nodes.push_back(std::move(n));
    for (std::size_t i = 0; i < from.size(); ++i) {
        bool again = false;
        for (std::size_t k = 0; k < i; ++k) {
            again = again || from[k] == from[i];
        }
        const index_t bytes = g_.nodes[to_size(from[i])].output_bytes;
        if (!again) {
            g_.edges.push_back({from[i], number, bytes});
        }
    }
    return number;
}

TESSERA_INLINE int family_writer::weights(std::string name, double count) {
    const int number = node(std::move(name), {}, count, 0);
    cost_node& n = g_.nodes.back();
    n.times = {{nanoseconds(device_.launch), nanoseconds(device_.launch)}};
    n.parameter_bytes = n.output_bytes;
    n.resident_bytes = 3 * n.parameter_bytes; // what it makes are the weights themselves
    return number;
}

} // namespace tessera::learned::detail

#include "tessera/base/end_header.inl"
