// SPDX-License-Identifier: Apache-2.0
// A device graph made ready for questions: devices by number, lanes (what transfers take turns on), and the route between two devices.
#pragma once

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

/// A lane is one direction of one cable (both directions of a half-duplex one). A route minimizes the sum over its links of latency and
/// of the time for 2^20 bytes, then the number of links; among equals the links listed first win. Devices pass nothing on. Of several
/// cables side by side the route takes the one that (from + 31 * to) mod cables names, a static spread of the traffic.
class cluster {
public:
    /// Throws tessera::error for a graph that is not sound, and for routes of more than route::max_lanes links.
    explicit cluster(const device_graph& g) : graph_(g) {
        require(graph_);
        adjacent_.resize(graph_.components.size());
        for (std::size_t i = 0; i < graph_.links.size(); ++i) {
            const link& l = graph_.links[i];
            adjacent_[at(l.from)].push_back(static_cast<int>(i));
            adjacent_[at(l.to)].push_back(static_cast<int>(i));
            first_lane_.push_back(static_cast<int>(lane_megabytes_.size()));
            lane_megabytes_.insert(lane_megabytes_.end(), at(l.cables * (l.half_duplex ? 1 : 2)), l.megabytes);
        }
        for (std::size_t i = 0; i < graph_.components.size(); ++i) {
            if (graph_.components[i].device_class >= 0) {
                component_of_.push_back(static_cast<int>(i));
            }
        }
        trees_.resize(component_of_.size());
        for (int d = 0; d < devices() && devices() <= eager; ++d) {
            build_tree(d);
        }
    }

    const device_graph& graph() const { return graph_; }
    int devices() const { return static_cast<int>(component_of_.size()); }
    int lanes() const { return static_cast<int>(lane_megabytes_.size()); }
    index_t lane_megabytes(int lane) const { return lane_megabytes_[at(lane)]; }
    const device_class& class_of(int device) const {
        return graph_.classes[at(graph_.components[at(component_of_[at(device)])].device_class)];
    }
    /// The outermost component that contains the device: its node; or the device itself.
    int node_of(int device) const {
        int c = component_of_[at(device)];
        while (graph_.components[at(c)].inside >= 0) {
            c = graph_.components[at(c)].inside;
        }
        return c;
    }

    /// The route from one device to another. With more than 1024 devices the first question about a source works its routes out, so
    /// that threads must not share the cluster then.
    route between(int from, int to) const {
        route r;
        if (from == to) {
            return r;
        }
        if (trees_[at(from)].empty()) {
            build_tree(from);
        }
        const std::vector<int>& tree = trees_[at(from)];
        fixed_vector<int, route::max_lanes> backward;
        const int end = component_of_[at(from)];
        for (int here = component_of_[at(to)]; here != end;) {
            const int number = tree[at(here)];
            const link& l = graph_.links[at(number)];
            const int direction = l.half_duplex || l.to == here ? 0 : 1;
            backward.push_back(first_lane_[at(number)] + direction * l.cables + (from + 31 * to) % l.cables);
            r.latency += l.latency;
            r.megabytes = r.megabytes == 0 || l.megabytes < r.megabytes ? l.megabytes : r.megabytes;
            here = l.to == here ? l.from : l.to;
        }
        for (int i = backward.size() - 1; i >= 0; --i) {
            r.lanes.push_back(backward[i]);
        }
        return r;
    }

private:
    static constexpr int eager = 1024;
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    struct reached {
        index_t distance = 0; ///< picoseconds
        int hops = 0;
        int component = 0;
    };
    static bool later(const reached& a, const reached& b) {
        return a.distance != b.distance ? a.distance > b.distance
               : a.hops != b.hops       ? a.hops > b.hops
                                        : a.component > b.component;
    }

    /// Dijkstra's algorithm from one device; the tree holds for every component the link by which it is reached.
    void build_tree(int device) const {
        std::vector<int> tree(graph_.components.size(), -1);
        std::vector<reached> best(graph_.components.size(), {-1, 0, 0});
        std::vector<reached> heap;
        const int start = component_of_[at(device)];
        best[at(start)] = {0, 0, start};
        heap.push_back(best[at(start)]);
        while (!heap.empty()) {
            std::pop_heap(heap.begin(), heap.end(), later);
            const reached here = heap.back();
            heap.pop_back();
            const reached& known = best[at(here.component)];
            if (known.distance != here.distance || known.hops != here.hops ||
                (here.component != start && graph_.components[at(here.component)].device_class >= 0)) {
                continue;
            }
            for (int number : adjacent_[at(here.component)]) {
                const link& l = graph_.links[at(number)];
                const int next = l.from == here.component ? l.to : l.from;
                const index_t length = l.latency * 1000 + (index_t{1} << 20) * 1'000'000 / l.megabytes;
                const reached found{here.distance + length, here.hops + 1, next};
                reached& old = best[at(next)];
                if (old.distance < 0 || found.distance < old.distance ||
                    (found.distance == old.distance && found.hops < old.hops)) {
                    old = found;
                    tree[at(next)] = number;
                    heap.push_back(found);
                    std::push_heap(heap.begin(), heap.end(), later);
                }
            }
        }
        for (int c : component_of_) {
            if (best[at(c)].hops > route::max_lanes) {
                detail::refuse_machine(graph_, "the route from device " + std::to_string(device) + " to '" +
                                                   graph_.components[at(c)].name + "' has " +
                                                   std::to_string(best[at(c)].hops) +
                                                   " links; merge switches so that none has more than 12");
            }
        }
        trees_[at(device)] = static_cast<std::vector<int>&&>(tree);
    }

    device_graph graph_;
    std::vector<std::vector<int>> adjacent_;
    std::vector<int> first_lane_;
    std::vector<index_t> lane_megabytes_;
    std::vector<int> component_of_;
    mutable std::vector<std::vector<int>> trees_;
};

/// The machine of the additive cost model that is nearest from below: as many devices, each like the slowest, every two linked like the
/// two that are furthest apart.
inline machine uniform_machine(const cluster& n) {
    machine m;
    m.devices = n.devices();
    for (int d = 0; d < n.devices(); ++d) {
        const device_class& c = n.class_of(d);
        const bool first = d == 0;
        m.gigaflops = first ? c.gigaflops[1] : std::min(m.gigaflops, c.gigaflops[1]);
        m.memory_megabytes = first ? c.memory_megabytes : std::min(m.memory_megabytes, c.memory_megabytes);
        m.launch = first ? c.launch : std::max(m.launch, c.launch);
        m.capacity = first ? c.memory_bytes : std::min(m.capacity, c.memory_bytes);
    }
    bool linked = false;
    for (int a = 0; a < n.devices(); ++a) {
        for (int b = 0; b<n.devices(); b += n.devices()> 64 ? 7 : 1) { // of large machines a sample
            if (a != b) {
                const route r = n.between(a, b);
                m.link_latency = std::max(m.link_latency, r.latency);
                m.link_megabytes = linked ? std::min(m.link_megabytes, r.megabytes) : r.megabytes;
                linked = true;
            }
        }
    }
    return m;
}

/// The device graph of a uniform machine: a link of its own between every two devices.
inline device_graph fully_linked(const machine& m) {
    device_graph g;
    g.name = "uniform";
    device_class c;
    c.name = "device";
    for (index_t& rate : c.gigaflops) {
        rate = m.gigaflops;
    }
    c.memory_megabytes = m.memory_megabytes;
    c.memory_bytes = m.capacity;
    c.launch = m.launch;
    g.add_class(c);
    for (int d = 0; d < m.devices; ++d) {
        g.add_device(0, "device " + std::to_string(d));
        for (int e = 0; e < d; ++e) {
            g.add_link(e, d, m.link_megabytes, m.link_latency);
        }
    }
    return g;
}

} // namespace tessera
