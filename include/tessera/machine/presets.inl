// SPDX-License-Identifier: Apache-2.0
// Bodies of presets.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/presets.hpp"

namespace tessera::machines::detail {

TESSERA_INLINE device_class gpu(const char* name, index_t gigaflops, index_t memory_megabytes, index_t memory_gigabytes,
                                index_t in_tf32, index_t in_bf16, index_t to_host, index_t in_fp16, index_t in_fp8) {
    return {name,
            {gigaflops, gigaflops, gigaflops},
            memory_megabytes,
            memory_gigabytes * 1'000'000'000,
            gpu_launch,
            false,
            {in_tf32, in_tf32, 0},
            {in_bf16, in_bf16, 0},
            to_host,
            {in_fp16, in_fp16, 0},
            {in_fp8, in_fp8, 0},
            1,
            76800,
            {}};
}

TESSERA_INLINE device_class with_host(device_class c, index_t update_megabytes) {
    c.host_update_megabytes = update_megabytes;
    return c;
}

TESSERA_INLINE std::string numbered(const char* what, int i, int j) {
    return what + std::to_string(i) + "." + std::to_string(j);
}

TESSERA_INLINE device_graph rails(const std::string& name, const device_class& c, int nodes, int per_node,
                                  index_t nvlink, index_t card, int leaf_nodes) {
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
        const int nvswitch = nvlink > 0 ? g.add_switch(numbered("nvswitch ", n), chassis) : -1;
        for (int i = 0; i < per_node; ++i) {
            const int d = g.add_device(0, numbered("gpu ", n, i), chassis);
            if (nvswitch >= 0) {
                g.add_link(d, nvswitch, nvlink, gpu_latency);
            }
            if (nodes > 1) {
                const int mine = i * leaves + n / leaf_nodes;
                g.add_link(d, leaf[to_size(mine)], card, fabric_latency);
            }
        }
    }
    return g;
}

TESSERA_INLINE void add_cards(device_graph& g, const std::vector<std::vector<int>>& hosts_gpus,
                              const std::vector<int>& hosts, index_t pcie, index_t card) {
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

} // namespace tessera::machines::detail

namespace tessera::machines {

TESSERA_INLINE device_graph p100_nodes(int nodes, int per_node) {
    device_graph g;
    g.name = detail::numbered("P100 nodes: ", nodes);
    g.add_class(detail::gpu("P100-SXM2", 10600, 732000, 16));
    std::vector<std::vector<int>> gpus(to_size(nodes));
    std::vector<int> hosts;
    for (int n = 0; n < nodes; ++n) {
        hosts.push_back(g.add_switch(detail::numbered("host ", n)));
        std::vector<int>& mine = gpus[to_size(n)];
        for (int i = 0; i < per_node; ++i) {
            mine.push_back(g.add_device(0, detail::numbered("gpu ", n, i), hosts.back()));
            for (int j = 0; j < i; ++j) {
                g.add_link(mine[to_size(j)], mine.back(), 20000, detail::gpu_latency);
            }
        }
    }
    detail::add_cards(g, gpus, hosts, 12000, 12500);
    return g;
}

TESSERA_INLINE device_graph k80_nodes(int nodes) {
    device_graph g;
    g.name = detail::numbered("K80 nodes: ", nodes);
    g.add_class(detail::gpu("K80", 4370, 240000, 12));
    g.classes[0].share_host_link = 4;
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

TESSERA_INLINE device_graph v100_nodes(int nodes) {
    constexpr int pairs[][3] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1}, {1, 5, 2}, {2, 3, 2},
                                {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1}, {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
    device_graph g;
    g.name = detail::numbered("V100 nodes: ", nodes);
    g.add_class(detail::gpu("V100-SXM2", 15700, 900000, 32, 0, 0, 12000, 125000));
    g.classes[0].share_host_link = 2;
    std::vector<std::vector<int>> gpus(to_size(nodes));
    std::vector<int> hosts;
    for (int n = 0; n < nodes; ++n) {
        hosts.push_back(g.add_switch(detail::numbered("host ", n)));
        std::vector<int>& mine = gpus[to_size(n)];
        for (int i = 0; i < 8; ++i) {
            mine.push_back(g.add_device(0, detail::numbered("gpu ", n, i), hosts.back()));
        }
        for (const auto& p : pairs) {
            g.add_link(mine[to_size(p[0])], mine[to_size(p[1])], 25000 * p[2], detail::gpu_latency);
        }
    }
    detail::add_cards(g, gpus, hosts, 12000, 12500);
    return g;
}

TESSERA_INLINE device_graph a100_nodes(int nodes) {
    return detail::rails(detail::numbered("A100 nodes: ", nodes), detail::a100(), nodes, 8, 300000, 25000, 16);
}

TESSERA_INLINE device_graph h100_nodes(int nodes) {
    return detail::rails(detail::numbered("H100 nodes: ", nodes),
                         detail::with_rates(detail::with_host(detail::gpu("H100-SXM", 67000, 3350000, 80, 494500,
                                                                          989500, 48000, 989500, 1979000),
                                                              307200),
                                            detail::h100_rates()),
                         nodes, 8, 450000, 50000, 32);
}

TESSERA_INLINE device_graph h200_nodes(int nodes) {
    return detail::rails(detail::numbered("H200 nodes: ", nodes),
                         detail::with_rates(detail::with_host(detail::gpu("H200-SXM", 67000, 4800000, 141, 494500,
                                                                          989500, 48000, 989500, 1979000),
                                                              307200),
                                            detail::h200_rates()),
                         nodes, 8, 450000, 50000, 32);
}

TESSERA_INLINE device_graph b200_nodes(int nodes) {
    return detail::rails(detail::numbered("B200 nodes: ", nodes),
                         detail::gpu("B200", 75000, 8000000, 180, 1100000, 2250000, 48000, 2250000, 4500000), nodes, 8,
                         900000, 50000, 32);
}

TESSERA_INLINE device_graph gb200_nvl72(int racks) {
    return detail::rails(detail::numbered("GB200 NVL72 racks: ", racks),
                         detail::gpu("GB200", 80000, 8000000, 186, 1250000, 2500000, 225000, 2500000, 5000000), racks,
                         72, 900000, 50000, 8);
}

TESSERA_INLINE device_graph mi300x_nodes(int nodes) {
    constexpr int per_node = 8;
    constexpr index_t fabric = 64000;
    const device_class c = detail::gpu("MI300X", 163400, 5300000, 192, 653700, 1307400, 48000, 1307400, 2614900);
    device_graph g = detail::rails(detail::numbered("MI300X nodes: ", nodes), c, nodes, per_node, 0, 50000, 32);
    std::vector<int> gpus;
    for (int i = 0; i < static_cast<int>(g.components.size()); ++i) {
        if (g.components[to_size(i)].device_class == 0) {
            gpus.push_back(i);
        }
    }
    for (int n = 0; n < nodes; ++n) {
        for (int i = 0; i < per_node; ++i) {
            for (int j = 0; j < i; ++j) {
                g.add_link(gpus[to_size(n * per_node + j)], gpus[to_size(n * per_node + i)], fabric,
                           detail::gpu_latency);
            }
        }
    }
    return g;
}

TESSERA_INLINE device_graph tpu_v5p(int cubes) {
    if (cubes != 1 && cubes != 2 && cubes != 4) {
        throw error("tessera: a TPU v5p machine has 1, 2 or 4 cubes of 64 chips here, not " + std::to_string(cubes));
    }
    constexpr index_t chip_to_router = 600000;
    constexpr index_t between_chips = 100000;
    constexpr index_t hop = 500; // ns
    constexpr index_t gibibyte = index_t{1} << 30;
    device_class c = detail::gpu("TPU v5p", 76500, 2765000, 0, 0, 459000, 24000, 0, 459000);
    c.gigaflops[static_cast<int>(work_kind::elementwise)] = 4000;
    c.memory_bytes = 95 * gibibyte;
    device_graph g;
    g.name = detail::numbered("TPU v5p cubes: ", cubes);
    g.add_class(c);
    const int side[3] = {4, cubes == 4 ? 8 : 4, cubes > 1 ? 8 : 4};
    std::vector<int> cube;
    for (int i = 0; i < cubes; ++i) {
        cube.push_back(g.add_switch(detail::numbered("cube ", i)));
    }
    const auto number = [&](int x, int y, int z) { return (x * side[1] + y) * side[2] + z; };
    std::vector<int> router;
    for (int i = 0; i < side[0] * side[1] * side[2]; ++i) {
        const int z = i % side[2];
        const int y = i / side[2] % side[1];
        const int inside = cube[to_size(y / 4 * (side[2] / 4) + z / 4)];
        router.push_back(g.add_switch(detail::numbered("router ", i), inside));
        g.add_link(g.add_device(0, detail::numbered("chip ", i), inside), router.back(), chip_to_router, hop);
    }
    for (int x = 0; x < side[0]; ++x) {
        for (int y = 0; y < side[1]; ++y) {
            for (int z = 0; z < side[2]; ++z) {
                const int from = router[to_size(number(x, y, z))];
                for (const int to : {number((x + 1) % side[0], y, z), number(x, (y + 1) % side[1], z),
                                     number(x, y, (z + 1) % side[2])}) {
                    g.add_link(from, router[to_size(to)], between_chips, hop);
                }
            }
        }
    }
    return g;
}

TESSERA_INLINE device_graph heterogeneous() {
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

TESSERA_INLINE device_graph this_host(int threads) {
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
