// SPDX-License-Identifier: Apache-2.0
// Machines of the papers on schedules and synchronization, as device graphs. Peaks are the vendors' data sheets'
// (TPUs': recalled); how the devices are linked is the papers' where they say it, and else an assumption that is said.
#pragma once

#include "tessera/machine/presets.hpp"

namespace papers {

namespace ts = tessera;
using ts::index_t;

/// Nodes of equal devices: within a node every device has a link to the host, nodes hang on one switch by a card each.
struct node_shape {
    index_t inner_megabytes = 12000; ///< device to host
    index_t inner_latency = 1000;    ///< ns
    index_t card_megabytes = 12500;  ///< host to fabric, each direction
    index_t card_latency = 2000;     ///< ns
};

inline ts::device_graph nodes_of(const std::string& name, const ts::device_class& c, int nodes, int per_node,
                                 const node_shape& shape) {
    ts::device_graph g;
    g.name = name;
    g.add_class(c);
    const int fabric = nodes > 1 ? g.add_switch("fabric") : -1;
    for (int n = 0; n < nodes; ++n) {
        const int host = g.add_switch("host " + std::to_string(n));
        for (int i = 0; i < per_node; ++i) {
            const int d = g.add_device(0, "device " + std::to_string(n) + "." + std::to_string(i), host);
            g.add_link(d, host, shape.inner_megabytes, shape.inner_latency);
        }
        if (fabric >= 0) {
            g.add_link(host, fabric, shape.card_megabytes, shape.card_latency);
        }
    }
    return g;
}

/// Cores of TPU boards as GPipe used them (AmoebaNet: 8 GB a core; Transformer: 16 GB). Recalled: 22.5 (v2) and 61.5
/// (v3) TFLOP/s and 300 and 450 GB/s a core. Assumptions: 1 TFLOP/s for all that is no product, links of 60 GB/s to the
/// next core.
inline ts::device_class tpu_v2() { return {"TPU v2 core", {22500, 22500, 1000}, 300000, 8'000'000'000, 5000}; }
inline ts::device_class tpu_v3() { return {"TPU v3 core", {61500, 61500, 1000}, 450000, 16'000'000'000, 5000}; }
inline ts::device_graph tpu_cores(const ts::device_class& c, int cores) {
    return nodes_of("TPU cores", c, 1, cores, {60000, 500, 0, 0});
}

/// GPUs of one node whose only way to each other is over PCIe 3 and the host: 12 GB/s each (assumed).
inline ts::device_class p100_pcie() { return ts::machines::detail::gpu("P100", 10600, 732000, 16); }
inline ts::device_class p40() { return ts::machines::detail::gpu("P40", 11760, 346000, 24); }
inline ts::device_graph pcie_node(const ts::device_class& c, int gpus) {
    return nodes_of(c.name + " over PCIe", c, 1, gpus, {});
}

/// P3's machines: one Quadro P4000 (5.3 TFLOP/s, 243 GB/s, 8 GB) each, their 100 Gb/s InfiniBand throttled. A worker's
/// server lies beside it.
inline ts::device_class p4000() { return ts::machines::detail::gpu("P4000", 5300, 243000, 8); }
inline ts::device_graph throttled_nodes(int nodes, double gigabits) {
    return nodes_of("P4000 nodes", p4000(), nodes, 1, {12000, 1000, static_cast<index_t>(gigabits * 125), 10000});
}

/// Horovod's servers: 4 Pascal GPUs (taken as P100 SXM2) and 25 Gb/s RoCE each. Assumption: the GPUs of a server reach
/// each other at 20 GB/s.
inline ts::device_graph roce_servers(int servers, int gpus = 4, index_t card_latency = 5000) {
    return nodes_of("P100 servers, 25 Gb/s", ts::machines::detail::gpu("P100-SXM2", 10600, 732000, 16), servers, gpus,
                    {20000, 1000, 3125, card_latency});
}

/// Stampede2's Skylake nodes: 2 x 24 cores, AVX-512 at 1.4 GHz (4.3 TFLOP/s), 256 GB/s, 192 GB, Omni-Path at 100 Gb/s
/// (vendors' figures). A device is a process on an equal share of them, whose operators use its n cores as Amdahl has
/// it: as fast as 1 / (serial + (1 - serial) / n) of them.
inline ts::device_class skylake_process(int processes, double serial, index_t launch = 20000) {
    const double cores = 48.0 / processes;
    const double used = 1 / (serial + (1 - serial) / cores);
    const auto share = [&](double node) { return static_cast<index_t>(node / 48 * used); };
    return {"Skylake process",
            {share(4300), share(4300), share(4300)},
            share(256000),
            index_t{192'000'000'000} / processes,
            launch};
}
inline ts::device_graph skylake_nodes(int nodes, int processes, double serial, index_t card_megabytes = 12500,
                                      index_t card_latency = 2000) {
    return nodes_of("Skylake nodes", skylake_process(processes, serial), nodes, processes,
                    {20000, 500, card_megabytes, card_latency});
}

/// GEMS's V100 nodes (taken as Lassen's): 4 V100 of 16 GB at 75 GB/s to each other (3 NVLinks), 2 x 100 Gb/s InfiniBand
/// a node.
inline ts::device_class v100_16() { return ts::machines::detail::gpu("V100-SXM2-16GB", 15700, 900000, 16); }
inline ts::device_graph v100_quads(int nodes, index_t card_megabytes = 25000, index_t card_latency = 2000) {
    return nodes_of("V100 nodes", v100_16(), nodes, 4, {75000, 1000, card_megabytes, card_latency});
}

} // namespace papers
