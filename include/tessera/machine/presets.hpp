// SPDX-License-Identifier: Apache-2.0
// Machines of the papers and of today as device graphs. Peak figures are the vendors': fp32 without tensor cores, TF32
// and bf16 of products and convolutions on dense tensor cores where a device has those (data sheets that print figures
// "with sparsity" print twice that); what is an assumption of ours is said. Latencies are assumptions everywhere: 1 us
// per link that a GPU drives, 2 us per network card and cable. Every class of devices has rates by kind of work, memory
// bandwidth and capacity of its own; what is reached of them is said by rates by size (A100, H100, H200) or else by
// cost::roofline_efficiency.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"

namespace tessera::machines {

namespace detail {

constexpr index_t gpu_latency = 1000;    ///< ns
constexpr index_t fabric_latency = 2000; ///< ns
constexpr index_t gpu_launch = 5000;     ///< ns

/// `in_tf32`, `in_bf16`: GFLOP/s of tensor cores, for convolutions and products of matrices; 0 where there are none for
/// the type. `to_host`: MB/s to the host's memory. Assumption: three quarters of PCIe's x16 rate per direction, 12 GB/s
/// of version 3.
device_class gpu(const char* name, index_t gigaflops, index_t memory_megabytes, index_t memory_gigabytes,
                 index_t in_tf32 = 0, index_t in_bf16 = 0, index_t to_host = 12000);

/// Rates by size. Fitted, by `plan --calibrate benchmarks/search/published/fit_a100.csv` and fit_h100.csv from
/// usual_rates(), to six published runs each of llm-foundry in bf16 (PyTorch FSDP; what these tables do not have was not
/// looked at by the fit): the shares of products, attention, memory and links, and what collectives take. They hold
/// what PyTorch's separate kernels cost, and that parameters and gradients travel as bf16 there and as fp32 here.
/// NVIDIA's: multiprocessors. Assumptions: tiles, the ramp of memory, what starting a collective takes. The H200's are
/// the H100's, with the share of its memory's bandwidth that elementwise operators reached when measured, 3.5 of 4.8
/// TB/s (benchmarks/results/gpu-2026-11-26.md).
constexpr device_rates fitted_rates(index_t multiprocessors, index_t product, index_t attention_forward,
                                    index_t attention_backward, index_t memory, index_t link, index_t engine) {
    device_rates r = usual_rates(multiprocessors);
    r.product_share = product;
    r.attention_forward_share = attention_forward;
    r.attention_backward_share = attention_backward;
    r.memory_share = memory;
    r.link_share = link;
    r.collective_engine = engine;
    return r;
}
constexpr device_rates a100_rates() { return fitted_rates(108, 910, 515, 260, 286, 451, 164); }
constexpr device_rates h100_rates() { return fitted_rates(132, 624, 205, 169, 516, 813, 171); }
constexpr device_rates h200_rates() {
    device_rates r = h100_rates();
    r.memory_share = 729;
    return r;
}

/// A class with such rates.
inline device_class with_rates(device_class c, const device_rates& r) {
    c.rates = r;
    return c;
}

/// NVIDIA A100 80GB data sheet, SXM: 19.5 TFLOP/s in FP32, 156 in TF32, 312 in bf16 (312 and 624 with sparsity), 2039
/// GB/s; PCIe 4.
inline device_class a100() {
    return with_rates(gpu("A100-SXM-80GB", 19500, 2039000, 80, 156000, 312000, 24000), a100_rates());
}

inline std::string numbered(const char* what, int i) { return what + std::to_string(i); }
std::string numbered(const char* what, int i, int j);

/// Nodes whose GPUs hang on one NVSwitch, each GPU with a network card of its own; cards of equal place form a rail. A
/// rail has a leaf switch for every `leaf_nodes` nodes, and the leaves of all rails meet in a spine with half as much
/// bandwidth up as down.
device_graph rails(const std::string& name, const device_class& c, int nodes, int per_node, index_t nvlink,
                   index_t card, int leaf_nodes);

/// Nodes that share one network card each: every GPU reaches it through its own PCIe link to the host.
void add_cards(device_graph& g, const std::vector<std::vector<int>>& hosts_gpus, const std::vector<int>& hosts,
               index_t pcie, index_t card);

} // namespace detail

/// The P100 cluster of OptCNN and FlexFlow (Jia et al., ICML 2018 section 6 and MLSys 2019 section 8): nodes of 4 P100
/// SXM2 linked pairwise by NVLink, nodes by 100 Gb/s EDR InfiniBand. NVIDIA's figures (whitepaper WP-08019-001, Tesla
/// P100): 10.6 TFLOP/s, 732 GB/s, 16 GB, 20 GB/s per NVLink and direction. Assumption: PCIe 3 x16 at 12 GB/s to the one
/// card of the node.
device_graph p100_nodes(int nodes = 4, int per_node = 4);

/// The K80 cluster of FlexFlow (MLSys 2019 section 8): nodes of 4 K80 GPUs, two and two behind a PCIe switch, both
/// switches behind one shared link to the host, nodes by 56 Gb/s InfiniBand. NVIDIA's figures (board specification
/// BD-07317-001; half a board): 4.37 TFLOP/s with boost, 240 GB/s, 12 GB. Assumption: PCIe 3 x16 at 12 GB/s.
device_graph k80_nodes(int nodes = 16);

/// Nodes of 8 V100 SXM2 in the hybrid cube mesh of the DGX-1 (6 NVLinks of 25 GB/s per direction for each GPU; which
/// pairs have two is recalled), 100 Gb/s InfiniBand. NVIDIA's figures (V100 and DGX-1 data sheets): 15.7 TFLOP/s, 900
/// GB/s, 32 GB; its tensor cores take fp16 alone, so that TF32 and bf16 run at the rate of fp32. Assumption: one card
/// per node (a DGX-1 has four) behind PCIe 3 at 12 GB/s.
device_graph v100_nodes(int nodes = 1);

/// Nodes of 8 A100 SXM 80 GB: NVSwitch at 300 GB/s per direction, one 200 Gb/s card per GPU. NVIDIA's figures (A100 and
/// DGX A100 data sheets): see detail::a100().
device_graph a100_nodes(int nodes = 1);

/// Nodes of 8 H100 SXM: NVSwitch at 450 GB/s per direction, one 400 Gb/s card per GPU. NVIDIA's figures (H100 and
/// DGX H100 data sheets): 67 TFLOP/s, 3350 GB/s, 80 GB; with sparsity 989 TFLOP/s in TF32 and 1979 in bf16, so that
/// half of that is dense. Assumption: leaves for 32 nodes, as in a SuperPOD's scalable unit, with half the bandwidth
/// upwards. PCIe 5.
device_graph h100_nodes(int nodes = 1);

/// The same with H200 (H200 data sheet): 4800 GB/s, 141 GB, and the H100's rates. 2048 nodes make the 16,384 devices of
/// a multi-rail fat tree.
device_graph h200_nodes(int nodes = 1);

/// Unequal devices: one node of 4 P100 (PCIe at 12 GB/s, assumed) and one of 2 A100 (PCIe 4 at 24 GB/s, assumed),
/// joined at 100 Gb/s.
device_graph heterogeneous();

/// Threads of the machine that Tessera is developed on (2 cores of an AMD EPYC of Zen 4): per core 118 GFLOP/s of f32
/// multiply-adds measured, 25 GB/s to copy beyond the caches measured with one core busy and 41 GB/s with two, 0.2 us
/// to wake a waiting thread. The threads themselves copy, so that copies take their turn among the tasks. Assumption:
/// as much for every further core.
device_graph this_host(int threads = 2);

} // namespace tessera::machines

#ifndef TESSERA_COMPILED
#include "tessera/machine/presets.inl"
#endif

#include "tessera/base/end_header.inl"
