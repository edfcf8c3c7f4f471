// SPDX-License-Identifier: Apache-2.0
// Placements: two nodes on one device, which cost nothing to move between.
#include <tessera/machine/presets.hpp>
#include <tessera/search/placement/evaluate.hpp>

int main() {
    namespace sp = tessera::search::placement;
    sp::cost_graph g;
    g.name = "two";
    g.nodes = {{"a", {{10, 20}}, 8}, {"b", {{10, 20}}, 8}};
    g.edges = {{0, 1, 8}};
    const tessera::cluster on(tessera::machines::p100_nodes(1, 2));
    return sp::evaluate(g, on, {0, 0}).step == 60 ? 0 : 1;
}
