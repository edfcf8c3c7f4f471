// SPDX-License-Identifier: Apache-2.0
// A graph that only neighbours tell how to place, on two devices of two kinds.
#pragma once

#include "tessera/machine/presets.hpp"
#include "tessera/search/placement/evaluate.hpp"
#include "tessera/search/random_numbers.hpp"

#include <string>
#include <vector>

namespace learned_test {

/// Blocks of two branches. In each a light node is followed by a heavy one. Heavy ones look the same, and every one
/// runs three times as fast on one of the two devices as on the other: which one, the light node before it says, that
/// has parameters or has none.
inline tessera::search::placement::cost_graph two_kinds(int blocks) {
    tessera::search::placement::cost_graph g;
    g.name = "two kinds";
    const auto node = [&](const std::vector<int>& from, tessera::index_t first, tessera::index_t second, bool weights) {
        tessera::search::placement::cost_node n;
        n.name = "node " + std::to_string(g.count());
        n.times = {{first, first}, {second, second}};
        n.output_bytes = 100;
        n.parameter_bytes = n.resident_bytes = weights ? 1000 : 0;
        for (const int f : from) {
            g.edges.push_back({f, g.count(), 100});
        }
        g.nodes.push_back(n);
        return g.count() - 1;
    };
    int last = node({}, 1000, 1000, false);
    for (int b = 0; b < blocks; ++b) {
        const int left = node({last}, 1000, 1000, true);
        const int right = node({last}, 1000, 1000, false);
        last = node({node({left}, 20'000, 6667, false), node({right}, 20'000, 60'000, false)}, 1000, 1000, false);
    }
    return g;
}

/// The same nodes; edges join others, never backward.
inline tessera::search::placement::cost_graph with_edges_shuffled(tessera::search::placement::cost_graph g,
                                                                  std::uint64_t seed) {
    tessera::search::random_numbers pick{seed};
    for (tessera::search::placement::cost_edge& e : g.edges) {
        e.from = pick(g.count() - 1);
        e.to = e.from + 1 + pick(g.count() - 1 - e.from);
    }
    return g;
}

/// Each with so much memory; 0: as much as is wanted.
inline tessera::cluster two_devices(tessera::index_t memory_bytes = 0) {
    tessera::machine m;
    m.devices = 2;
    m.link_megabytes = 1000;
    m.link_latency = 100;
    tessera::device_graph g = tessera::fully_linked(m);
    g.classes[0].memory_bytes = memory_bytes > 0 ? memory_bytes : g.classes[0].memory_bytes;
    tessera::device_class second = g.classes[0];
    second.name = "second";
    g.components[1].device_class = 1;
    g.add_class(second);
    return tessera::cluster(g);
}

} // namespace learned_test
