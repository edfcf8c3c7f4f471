// SPDX-License-Identifier: Apache-2.0
// Machines of the papers and of today as device graphs. Peak figures are the vendors': fp32 without tensor cores, TF32 and bf16 of products
// and convolutions on dense tensor cores where a device has those (data sheets that print figures "with sparsity" print twice that); what is an
// assumption of ours is said. Latencies are assumptions everywhere: 1 us per link that a GPU drives, 2 us per network card and cable. Every
// class of devices has rates by kind of work, memory bandwidth and capacity of its own; what a kind of work reaches of them is
// cost::roofline_efficiency's.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"

namespace tessera::machines {

namespace detail {

constexpr index_t gpu_latency = 1000;    ///< ns
constexpr index_t fabric_latency = 2000; ///< ns
constexpr index_t gpu_launch = 5000;     ///< ns

/// `in_tf32`, `in_bf16`: GFLOP/s of tensor cores, for convolutions and products of matrices; 0 where there are none for the type.
inline device_class gpu(const char* name, index_t gigaflops, index_t memory_megabytes, index_t memory_gigabytes,
                        index_t in_tf32 = 0, index_t in_bf16 = 0) {
    return {name,
            {gigaflops, gigaflops, gigaflops},
            memory_megabytes,
            memory_gigabytes * 1'000'000'000,
            gpu_launch,
            false,
            {in_tf32, in_tf32, 0},
            {in_bf16, in_bf16, 0}};
}

/// NVIDIA A100 80GB data sheet, SXM: 19.5 TFLOP/s in FP32, 156 in TF32, 312 in bf16 (312 and 624 with sparsity), 2039 GB/s.
inline device_class a100() { return gpu("A100-SXM-80GB", 19500, 2039000, 80, 156000, 312000); }

inline std::string numbered(const char* what, int i) { return what + std::to_string(i); }
inline std::string numbered(const char* what, int i, int j) {
    return what + std::to_string(i) + "." + std::to_string(j);
}

/// Nodes whose GPUs hang on one NVSwitch, each GPU with a network card of its own; cards of equal place form a rail. A rail has a leaf
/// switch for every `leaf_nodes` nodes, and the leaves of all rails meet in a spine with half as much bandwidth up as down.
inline device_graph rails(const std::string& name, const device_class& c, int nodes, int per_node, index_t nvlink,
                          index_t card, int leaf_nodes) {
    device_graph g;
    g.name = name;
    g.add_class(c);
    const int leaves = (nodes + leaf_nodes - 1) / leaf_nodes;
    std::vector<int> leaf;
    const int spine = nodes > 1 ? g.add_switch("spine") : -1;
    for (int rail = 0; rail < per_node && nodes > 1; ++rail) {
        for (int k = 0; k < leaves; ++k) {
            leaf.push_back(g.add_switch(numbered("leaf ", rail, k)));
            g.add_link(leaf.back(), spine, card, fabric_latency, leaf_nodes > 1 ? leaf_nodes / 2 : 1);
        }
    }
    for (int n = 0; n < nodes; ++n) {
        const int chassis = g.add_switch(numbered("node ", n));
        const int nvswitch = g.add_switch(numbered("nvswitch ", n), chassis);
        for (int i = 0; i < per_node; ++i) {
            const int d = g.add_device(0, numbered("gpu ", n, i), chassis);
            g.add_link(d, nvswitch, nvlink, gpu_latency);
            if (nodes > 1) {
                const int mine = i * leaves + n / leaf_nodes;
                g.add_link(d, leaf[static_cast<std::size_t>(mine)], card, fabric_latency);
            }
        }
    }
    return g;
}

/// Nodes that share one network card each: every GPU reaches it through its own PCIe link to the host.
inline void add_cards(device_graph& g, const std::vector<std::vector<int>>& hosts_gpus, const std::vector<int>& hosts,
                      index_t pcie, index_t card) {
    const int fabric = hosts.size() > 1 ? g.add_switch("fabric") : -1;
    for (std::size_t n = 0; n < hosts.size(); ++n) {
        for (int d : hosts_gpus[n]) {
            g.add_link(d, hosts[n], pcie, gpu_latency);
        }
        if (fabric >= 0) {
            g.add_link(hosts[n], fabric, card, fabric_latency);
        }
    }
}

} // namespace detail

/// The P100 cluster of OptCNN and FlexFlow (Jia et al., ICML 2018 section 6 and MLSys 2019 section 8): nodes of 4 P100 SXM2 linked pairwise by
/// NVLink, nodes by 100 Gb/s EDR InfiniBand. NVIDIA's figures (whitepaper WP-08019-001, Tesla P100): 10.6 TFLOP/s, 732 GB/s, 16 GB, 20 GB/s per NVLink
/// and direction. Assumption: PCIe 3 x16 at 12 GB/s to the one card of the node.
inline device_graph p100_nodes(int nodes = 4, int per_node = 4) {
    device_graph g;
    g.name = detail::numbered("P100 nodes: ", nodes);
    g.add_class(detail::gpu("P100-SXM2", 10600, 732000, 16));
    std::vector<std::vector<int>> gpus(static_cast<std::size_t>(nodes));
    std::vector<int> hosts;
    for (int n = 0; n < nodes; ++n) {
        hosts.push_back(g.add_switch(detail::numbered("host ", n)));
        std::vector<int>& mine = gpus[static_cast<std::size_t>(n)];
        for (int i = 0; i < per_node; ++i) {
            mine.push_back(g.add_device(0, detail::numbered("gpu ", n, i), hosts.back()));
            for (int j = 0; j < i; ++j) {
                g.add_link(mine[static_cast<std::size_t>(j)], mine.back(), 20000, detail::gpu_latency);
            }
        }
    }
    detail::add_cards(g, gpus, hosts, 12000, 12500);
    return g;
}

/// The K80 cluster of FlexFlow (MLSys 2019 section 8): nodes of 4 K80 GPUs, two and two behind a PCIe switch, both switches behind one shared link
/// to the host, nodes by 56 Gb/s InfiniBand. NVIDIA's figures (board specification BD-07317-001; half a board): 4.37 TFLOP/s with
/// boost, 240 GB/s, 12 GB. Assumption: PCIe 3 x16 at 12 GB/s.
inline device_graph k80_nodes(int nodes = 16) {
    device_graph g;
    g.name = detail::numbered("K80 nodes: ", nodes);
    g.add_class(detail::gpu("K80", 4370, 240000, 12));
    const int fabric = nodes > 1 ? g.add_switch("fabric") : -1;
    for (int n = 0; n < nodes; ++n) {
        const int host = g.add_switch(detail::numbered("host ", n));
        for (int s = 0; s < 2; ++s) {
            const int pcie = g.add_switch(detail::numbered("pcie ", n, s), host);
            g.add_link(pcie, host, 12000, detail::gpu_latency);
            for (int i = 0; i < 2; ++i) {
                const int d = g.add_device(0, detail::numbered("gpu ", n, 2 * s + i), pcie);
                g.add_link(d, pcie, 12000, detail::gpu_latency);
            }
        }
        if (fabric >= 0) {
            g.add_link(host, fabric, 7000, detail::fabric_latency);
        }
    }
    return g;
}

/// Nodes of 8 V100 SXM2 in the hybrid cube mesh of the DGX-1 (6 NVLinks of 25 GB/s per direction for each GPU; which pairs have two is recalled),
/// 100 Gb/s InfiniBand. NVIDIA's figures (V100 and DGX-1 data sheets): 15.7 TFLOP/s, 900 GB/s, 32 GB; its tensor cores take fp16 alone, so
/// that TF32 and bf16 run at the rate of fp32. Assumption: one card per node (a DGX-1 has four) behind PCIe 3 at 12 GB/s.
inline device_graph v100_nodes(int nodes = 1) {
    constexpr int pairs[][3] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 2},
                                {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
    device_graph g;
    g.name = detail::numbered("V100 nodes: ", nodes);
    g.add_class(detail::gpu("V100-SXM2", 15700, 900000, 32));
    std::vector<std::vector<int>> gpus(static_cast<std::size_t>(nodes));
    std::vector<int> hosts;
    for (int n = 0; n < nodes; ++n) {
        hosts.push_back(g.add_switch(detail::numbered("host ", n)));
        std::vector<int>& mine = gpus[static_cast<std::size_t>(n)];
        for (int i = 0; i < 8; ++i) {
            mine.push_back(g.add_device(0, detail::numbered("gpu ", n, i), hosts.back()));
        }
        for (const auto& p : pairs) {
            g.add_link(mine[static_cast<std::size_t>(p[0])], mine[static_cast<std::size_t>(p[1])], 25000 * p[2],
                       detail::gpu_latency);
        }
    }
    detail::add_cards(g, gpus, hosts, 12000, 12500);
    return g;
}

/// Nodes of 8 A100 SXM 80 GB: NVSwitch at 300 GB/s per direction, one 200 Gb/s card per GPU. NVIDIA's figures (A100 and DGX A100
/// data sheets): see detail::a100().
inline device_graph a100_nodes(int nodes = 1) {
    return detail::rails(detail::numbered("A100 nodes: ", nodes), detail::a100(), nodes, 8, 300000, 25000, 16);
}

/// Nodes of 8 H100 SXM: NVSwitch at 450 GB/s per direction, one 400 Gb/s card per GPU. NVIDIA's figures (H100 and
/// DGX H100 data sheets): 67 TFLOP/s, 3350 GB/s, 80 GB; with sparsity 989 TFLOP/s in TF32 and 1979 in bf16, so that half of that is dense. Assumption: leaves for 32 nodes, as in a SuperPOD's scalable unit, with half
/// the bandwidth upwards.
inline device_graph h100_nodes(int nodes = 1) {
    return detail::rails(detail::numbered("H100 nodes: ", nodes),
                         detail::gpu("H100-SXM", 67000, 3350000, 80, 494500, 989500), nodes, 8, 450000, 50000, 32);
}

/// The same with H200 (H200 data sheet): 4800 GB/s, 141 GB, and the H100's rates. 2048 nodes make the 16,384 devices of a multi-rail fat tree.
inline device_graph h200_nodes(int nodes = 1) {
    return detail::rails(detail::numbered("H200 nodes: ", nodes),
                         detail::gpu("H200-SXM", 67000, 4800000, 141, 494500, 989500), nodes, 8, 450000, 50000, 32);
}

/// Unequal devices: one node of 4 P100 (PCIe at 12 GB/s, assumed) and one of 2 A100 (PCIe 4 at 24 GB/s, assumed), joined at 100 Gb/s.
inline device_graph heterogeneous() {
    device_graph g;
    g.name = "heterogeneous";
    g.add_class(detail::gpu("P100-SXM2", 10600, 732000, 16));
    g.add_class(detail::a100());
    const int fabric = g.add_switch("fabric");
    for (int n = 0; n < 2; ++n) {
        const int host = g.add_switch(detail::numbered("host ", n));
        for (int i = 0; i < (n == 0 ? 4 : 2); ++i) {
            g.add_link(g.add_device(n, detail::numbered("gpu ", n, i), host), host, n == 0 ? 12000 : 24000,
                       detail::gpu_latency);
        }
        g.add_link(host, fabric, 12500, detail::fabric_latency);
    }
    return g;
}

/// Threads of the machine that Tessera is developed on (2 cores of an AMD EPYC of Zen 4): per core 118 GFLOP/s of f32 multiply-adds
/// measured, 25 GB/s to copy beyond the caches measured with one core busy and 41 GB/s with two, 0.2 us to wake a waiting thread. The
/// threads themselves copy, so that copies take their turn among the tasks. Assumption: as much for every further core.
inline device_graph this_host(int threads = 2) {
    device_graph g;
    g.name = detail::numbered("host threads: ", threads);
    device_class c{"Zen 4 core", {118, 118, 118}, 21000, 4'000'000'000, 300, true};
    g.add_class(c);
    const int memory = g.add_switch("memory");
    for (int i = 0; i < threads; ++i) {
        g.add_link(g.add_device(0, detail::numbered("core ", i), memory), memory, 21000, 100);
    }
    return g;
}

} // namespace tessera::machines

#include "tessera/base/end_header.inl"
