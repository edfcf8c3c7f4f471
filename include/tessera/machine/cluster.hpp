// SPDX-License-Identifier: Apache-2.0
// A device graph made ready for questions: devices by number, lanes (what transfers take turns on), and the route
// between two devices.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/fixed_vector.hpp"
#include "tessera/machine/device_graph.hpp"
#include "tessera/machine/machine.hpp"

#include <algorithm>

namespace tessera {

/// The way between two devices.
struct route {
    static constexpr int max_lanes = 12;
    fixed_vector<int, max_lanes> lanes; ///< in the order in which a transfer takes them; none from a device to itself
    index_t latency = 0;                ///< nanoseconds, of all links together
    index_t megabytes = 0;              ///< bandwidth of the slowest lane; 0 from a device to itself

    /// Nanoseconds to move bytes when nothing else moves: latency + bytes / bandwidth.
    index_t time(index_t bytes) const { return megabytes == 0 || bytes == 0 ? 0 : latency + bytes * 1000 / megabytes; }
};

/// A lane is one direction of one cable (both directions of a half-duplex one). A route minimizes the sum over its
/// links of latency and of the time for 2^20 bytes, then the number of links; among equals the links listed first win.
/// Devices pass nothing on. Of several cables side by side the route takes the one that (from + 31 * to) mod cables
/// names, a static spread of the traffic.
class cluster {
public:
    /// Throws tessera::error for a graph that is not sound, and for routes of more than route::max_lanes links (with
    /// more than 1024 devices, when such a route is asked for).
    explicit cluster(const device_graph& g);

    const device_graph& graph() const { return graph_; }
    int devices() const { return static_cast<int>(component_of_.size()); }
    int lanes() const { return static_cast<int>(lane_megabytes_.size()); }
    index_t lane_megabytes(int lane) const { return lane_megabytes_[to_size(lane)]; }
    const device_class& class_of(int device) const;
    /// The outermost component that contains the device: its node; or the device itself.
    int node_of(int device) const;

    /// The route from one device to another. With more than 1024 devices the first question about a source works its
    /// routes out, so that threads must not share the cluster then.
    route between(int from, int to) const;

private:
    static constexpr int eager = 1024;

    /// How something is reached from a device.
    struct reached {
        index_t distance = -1; ///< picoseconds; -1: not at all
        int hops = 0;
        int link = -1; ///< the last one on the way
    };
    struct waiting {
        index_t distance = 0;
        int hops = 0;
        int component = 0;
    };
    static bool later(const waiting& a, const waiting& b);

    const std::vector<reached>& tree_of(int device) const;

    /// Dijkstra's algorithm from one device over the switches: devices pass nothing on, so that each is one more link
    /// from a switch, or from the device itself, and a tree need not list them.
    void build_tree(int device) const;

    /// How a device is reached: over the link that makes the least (distance, hops); among equals from the nearest
    /// switch, then by the link listed first.
    reached last_hop(const std::vector<reached>& tree, int start, int end) const;

    [[noreturn]] void refuse_length(int from, int to, int hops) const;

    device_graph graph_;
    std::vector<std::vector<int>> adjacent_;
    std::vector<int> first_lane_;
    std::vector<index_t> lane_megabytes_;
    std::vector<index_t> length_;   ///< of every link, picoseconds
    std::vector<int> component_of_; ///< of every device
    std::vector<int> switch_;       ///< number of every component among the switches that have links, or -1
    int switches_ = 0;
    mutable std::vector<std::vector<reached>> trees_;
};

/// The machine of the additive cost model that is nearest from below: as many devices, each like the slowest, every two
/// linked like the two that are furthest apart. Its one rate is that for matrix products in the precision of the
/// network. With `first`, of the first so many devices alone.
machine uniform_machine(const cluster& n, precision math = precision::fp32, int first = 0);

/// The device graph of a uniform machine: a link of its own between every two devices.
device_graph fully_linked(const machine& m);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/machine/cluster.inl"
#endif

#include "tessera/base/end_header.inl"
