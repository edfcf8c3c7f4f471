// SPDX-License-Identifier: Apache-2.0
// What the nodes of generated cost graphs take: times by one formula from floating-point operations and bytes, on a
// device like half of a K80.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/placement/cost_graph.hpp"
#include "tessera/search/random_numbers.hpp"

#include <cmath>

namespace tessera::learned {

/// A device like one of the two GPUs of an NVIDIA K80. Peak 2.8 TFLOP/s in fp32 at the base clock, 240 GB/s, 12 GB, as
/// recalled of NVIDIA's figures. That tasks reach half of either peak and take 8 us more to start is assumed.
struct family_device {
    double flops = 1.4e12;  ///< per second
    double bytes = 120e9;   ///< of its own memory, per second
    double launch = 8e-6;   ///< seconds
    double link = 7.6e9;    ///< bytes per second, and
    double latency = 25e-6; ///< seconds: what Placeto's authors fitted to an EC2 p2.8xlarge
};

namespace detail {

using search::random_numbers;
using search::placement::cost_graph;
using search::placement::cost_node;

/// Writes cost graphs node by node. With d a `family_device`:
///   forward  = d.launch + max(flops / d.flops, (bytes read + bytes written + weights) / d.bytes)
///   backward = the same with twice the operations and bytes, for the gradients of what goes in and of the weights
/// A node holds four times its weights: themselves, their gradients, and Adam's two moments. Numbers are fp32.
class family_writer {
public:
    family_writer(std::string name, const family_device& d) : device_(d) { g_.name = std::move(name); }

    /// A node that reads `from` and makes `elements` numbers by so many floating-point operations, with so many
    /// weights.
    int node(std::string name, const std::vector<int>& from, double elements, double flops, double weights = 0);

    /// Weights that the nodes of several time steps share: a node of its own, which every device that runs such a step
    /// reads once in a step.
    int weights(std::string name, double count);

    cost_graph take() { return std::move(g_); }

private:
    static index_t nanoseconds(double seconds) { return static_cast<index_t>(std::llround(seconds * 1e9)); }

    family_device device_;
    cost_graph g_;
};

} // namespace detail

} // namespace tessera::learned

#ifndef TESSERA_COMPILED
#include "tessera/learned/family_costs.inl"
#endif

#include "tessera/base/end_header.inl"
