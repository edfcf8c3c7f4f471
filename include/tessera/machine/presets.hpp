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

/// `in_tf32`, `in_bf16`, `in_fp16`, `in_fp8`: GFLOP/s of tensor cores, for convolutions and products of matrices; 0
/// where there are none for the type. `to_host`: MB/s to the host's memory. Assumption: three quarters of PCIe's x16
/// rate per direction, 12 GB/s of version 3.
device_class gpu(const char* name, index_t gigaflops, index_t memory_megabytes, index_t memory_gigabytes,
                 index_t in_tf32 = 0, index_t in_bf16 = 0, index_t to_host = 12000, index_t in_fp16 = 0,
                 index_t in_fp8 = 0);

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

/// The class with MB/s of optimizers' steps on the host, for the node. Assumption: half of what its memory moves at
/// most. Without this it is that of two processors of the DGX-1 (Xeon E5-2698 v4: 4 channels of DDR4-2400), half of
/// 153.6 GB/s.
device_class with_host(device_class c, index_t update_megabytes);

/// NVIDIA A100 80GB data sheet, SXM: 19.5 TFLOP/s in FP32, 156 in TF32, 312 in bf16 and fp16 (312 and 624 with
/// sparsity), 2039 GB/s; PCIe 4; on the host two EPYC 7742 (DGX A100), each of 204.8 GB/s.
inline device_class a100() {
    return with_rates(with_host(gpu("A100-SXM-80GB", 19500, 2039000, 80, 156000, 312000, 24000, 312000), 204800),
                      a100_rates());
}

inline std::string numbered(const char* what, int i) { return what + std::to_string(i); }
std::string numbered(const char* what, int i, int j);

/// Nodes whose GPUs hang on one NVSwitch, each GPU with a network card of its own; cards of equal place form a rail. A
/// rail has a leaf switch for every `leaf_nodes` nodes, and the leaves of all rails meet in a spine with half as much
/// bandwidth up as down. Without a rate of NVLink there is no switch, and whoever calls links the GPUs.
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
/// GB/s, 32 GB; its tensor cores take fp16 alone, at 125 TFLOP/s, so that TF32 and bf16 run at the rate of fp32.
/// Assumption: one card per node (a DGX-1 has four) behind PCIe 3 at 12 GB/s. Two and two GPUs share a switch to the
/// host, as in a DGX-1.
device_graph v100_nodes(int nodes = 1);

/// Nodes of 8 A100 SXM 80 GB: NVSwitch at 300 GB/s per direction, one 200 Gb/s card per GPU. NVIDIA's figures (A100 and
/// DGX A100 data sheets): see detail::a100().
device_graph a100_nodes(int nodes = 1);

/// Nodes of 8 H100 SXM: NVSwitch at 450 GB/s per direction, one 400 Gb/s card per GPU. NVIDIA's figures (H100 and
/// DGX H100 data sheets): 67 TFLOP/s, 3350 GB/s, 80 GB; with sparsity 989 TFLOP/s in TF32, 1979 in bf16 and fp16 and
/// 3958 in fp8, so that half of that is dense. Assumption: leaves for 32 nodes, as in a SuperPOD's scalable unit, with
/// half the bandwidth upwards. PCIe 5; on the host two Xeon 8480C (DGX H100) with 8 channels of DDR5-4800, each of
/// 307.2 GB/s.
device_graph h100_nodes(int nodes = 1);

/// The same with H200 (H200 data sheet): 4800 GB/s, 141 GB, and the H100's rates. 2048 nodes make the 16,384 devices of
/// a multi-rail fat tree.
device_graph h200_nodes(int nodes = 1);

/// Nodes of 8 B200: NVSwitch at 900 GB/s per direction (NVLink 5), one 400 Gb/s card per GPU. NVIDIA's figures (HGX and
/// DGX B200 data sheets; half of those with sparsity): 75 TFLOP/s, in TF32 1100, in bf16 and fp16 2250, in fp8 4500;
/// 8000 GB/s (64 TB/s of eight), 180 GB (1440 GB of eight). The fabric as h100_nodes() has it. PCIe 5.
device_graph b200_nodes(int nodes = 1);

/// Racks of 72 GPUs on one NVLink switch system, GB200 NVL72: 900 GB/s per direction, one 400 Gb/s card per GPU.
/// NVIDIA's figures (GB200 NVL72 data sheet; a 72nd, and half of those with sparsity): 80 TFLOP/s, in TF32 1250, in
/// bf16 and fp16 2500, in fp8 5000; 8000 GB/s (576 TB/s), 186 GB (13.4 TB). To the host, a Grace, by NVLink-C2C: 900
/// GB/s of both directions for two GPUs, so 225 GB/s each way. Assumption: a rail's leaves take 8 racks.
device_graph gb200_nvl72(int racks = 1);

/// Nodes of 8 MI300X, every two joined by Infinity Fabric at 64 GB/s per direction (128 GB/s of both; 7 links each),
/// one 400 Gb/s card per GPU. AMD's figures (Instinct MI300X data sheet, without sparsity): 163.4 TFLOP/s, in TF32
/// 653.7, in bf16 and fp16 1307.4, in fp8 2614.9; 5300 GB/s, 192 GB; PCIe 5. Assumption: leaves as h100_nodes() has
/// them.
device_graph mi300x_nodes(int nodes = 1);

/// TPU v5p: cubes of 4 x 4 x 4 chips in a three-dimensional torus, as Google's documentation of Cloud TPU v5p has it:
/// 459 TFLOP/s in bf16 (and no more in fp8), 2765 GB/s, 95 GiB, 1200 GB/s to other chips in both directions together,
/// which is 100 GB/s per direction for each of 6 links. 1, 2 or 4 cubes: 4 x 4 x 4, 4 x 4 x 8 or 4 x 8 x 8 chips; longer
/// ways have more lanes than a route. Assumptions: fp32 at a sixth of bf16's rate (products of three parts each), 4 TFLOP/s
/// for work that is no product; a router passes on what a chip does not keep.
device_graph tpu_v5p(int cubes = 1);

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
