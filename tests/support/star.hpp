// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tessera/machine/cluster.hpp"

#include <string>

namespace test_support {

/// Equal devices with a network card each at one switch: a lane out and a lane in, with a latency in ns.
inline tessera::cluster star(int devices, tessera::index_t gigaflops, tessera::index_t memory_megabytes,
                             tessera::index_t link_megabytes, tessera::index_t latency = 0) {
    tessera::device_graph g;
    g.add_class({"d", {gigaflops, gigaflops, gigaflops}, memory_megabytes, 0, 0, false});
    g.classes[0].host_megabytes = 1000;
    g.classes[0].host_update_megabytes = 4000;
    for (int d = 0; d < devices; ++d) {
        g.add_device(0, "d" + std::to_string(d));
    }
    const int hub = g.add_switch("switch");
    for (int d = 0; d < devices; ++d) {
        g.add_link(d, hub, link_megabytes, latency);
    }
    return tessera::cluster(g);
}

} // namespace test_support
