// SPDX-License-Identifier: Apache-2.0
// A device graph made ready for questions: devices by number, lanes (what transfers take turns on), and the route between two devices.
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

/// A lane is one direction of one cable (both directions of a half-duplex one). A route minimizes the sum over its links of latency and
/// of the time for 2^20 bytes, then the number of links; among equals the links listed first win. Devices pass nothing on. Of several
/// cables side by side the route takes the one that (from + 31 * to) mod cables names, a static spread of the traffic.
class cluster {
public:
    /// Throws tessera::error for a graph that is not sound, and for routes of more than route::max_lanes links (with more than 1024
    /// devices, when such a route is asked for).
    explicit cluster(const device_graph& g) : graph_(g) {
        require(graph_);
        adjacent_.resize(graph_.components.size());
        for (std::size_t i = 0; i < graph_.links.size(); ++i) {
            const link& l = graph_.links[i];
            adjacent_[at(l.from)].push_back(static_cast<int>(i));
            adjacent_[at(l.to)].push_back(static_cast<int>(i));
            first_lane_.push_back(static_cast<int>(lane_megabytes_.size()));
            lane_megabytes_.insert(lane_megabytes_.end(), at(l.cables * (l.half_duplex ? 1 : 2)), l.megabytes);
            length_.push_back(l.latency * 1000 + (index_t{1} << 20) * 1'000'000 / l.megabytes);
        }
        for (std::size_t i = 0; i < graph_.components.size(); ++i) {
            const bool is_switch = graph_.components[i].device_class < 0;
            switch_.push_back(is_switch && !adjacent_[i].empty() ? switches_++ : -1);
            if (!is_switch) {
                component_of_.push_back(static_cast<int>(i));
            }
        }
        trees_.resize(component_of_.size());
        for (int d = 0; d < devices() && devices() <= eager; ++d) {
            build_tree(d);
            for (int e = 0; e < d; ++e) {
                const int hops = last_hop(trees_[at(d)], component_of_[at(d)], component_of_[at(e)]).hops;
                hops > route::max_lanes ? refuse_length(d, e, hops) : void();
            }
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
        const std::vector<reached>& tree = tree_of(from);
        const int start = component_of_[at(from)];
        const reached last = last_hop(tree, start, component_of_[at(to)]);
        if (last.hops > route::max_lanes) {
            refuse_length(from, to, last.hops);
        }
        fixed_vector<int, route::max_lanes> backward;
        int number = last.link;
        for (int here = component_of_[at(to)]; here != start;) {
            const link& l = graph_.links[at(number)];
            const int direction = l.half_duplex || l.to == here ? 0 : 1;
            backward.push_back(first_lane_[at(number)] + direction * l.cables + (from + 31 * to) % l.cables);
            r.latency += l.latency;
            r.megabytes = r.megabytes == 0 || l.megabytes < r.megabytes ? l.megabytes : r.megabytes;
            here = l.to == here ? l.from : l.to;
            number = here == start ? -1 : tree[at(switch_[at(here)])].link;
        }
        for (int i = backward.size() - 1; i >= 0; --i) {
            r.lanes.push_back(backward[i]);
        }
        return r;
    }

private:
    static constexpr int eager = 1024;
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

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
    static bool later(const waiting& a, const waiting& b) {
        return a.distance != b.distance ? a.distance > b.distance
               : a.hops != b.hops       ? a.hops > b.hops
                                        : a.component > b.component;
    }

    const std::vector<reached>& tree_of(int device) const {
        if (trees_[at(device)].empty()) {
            build_tree(device);
        }
        return trees_[at(device)];
    }

    /// Dijkstra's algorithm from one device over the switches: devices pass nothing on, so that each is one more link from a switch, or
    /// from the device itself, and a tree need not list them.
    void build_tree(int device) const {
        std::vector<reached> best(at(switches_) + 1); // never empty: that means not built
        std::vector<waiting> heap;
        const int start = component_of_[at(device)];
        heap.push_back({0, 0, start});
        while (!heap.empty()) {
            std::pop_heap(heap.begin(), heap.end(), later);
            const waiting here = heap.back();
            heap.pop_back();
            if (here.component != start) {
                const reached& known = best[at(switch_[at(here.component)])];
                if (known.distance != here.distance || known.hops != here.hops) {
                    continue;
                }
            }
            for (int number : adjacent_[at(here.component)]) {
                const link& l = graph_.links[at(number)];
                const int next = l.from == here.component ? l.to : l.from;
                if (switch_[at(next)] < 0) {
                    continue;
                }
                const waiting found{here.distance + length_[at(number)], here.hops + 1, next};
                reached& old = best[at(switch_[at(next)])];
                if (old.distance < 0 || found.distance < old.distance ||
                    (found.distance == old.distance && found.hops < old.hops)) {
                    old = {found.distance, found.hops, number};
                    heap.push_back(found);
                    std::push_heap(heap.begin(), heap.end(), later);
                }
            }
        }
        trees_[at(device)] = static_cast<std::vector<reached>&&>(best);
    }

    /// How a device is reached: over the link that makes the least (distance, hops); among equals from the nearest switch, then by the link listed first.
    reached last_hop(const std::vector<reached>& tree, int start, int end) const {
        reached best;
        waiting from;
        for (int number : adjacent_[at(end)]) {
            const link& l = graph_.links[at(number)];
            const int next = l.from == end ? l.to : l.from;
            const int known = switch_[at(next)];
            if (next != start && (known < 0 || tree[at(known)].distance < 0)) {
                continue;
            }
            const waiting before =
                next == start ? waiting{0, 0, start} : waiting{tree[at(known)].distance, tree[at(known)].hops, next};
            const reached found{before.distance + length_[at(number)], before.hops + 1, number};
            const bool equal = found.distance == best.distance && found.hops == best.hops;
            if (best.distance < 0 || found.distance < best.distance ||
                (found.distance == best.distance && found.hops < best.hops) || (equal && later(from, before))) {
                best = found;
                from = before;
            }
        }
        return best;
    }

    [[noreturn]] void refuse_length(int from, int to, int hops) const {
        detail::refuse_machine(graph_, "the route from device " + std::to_string(from) + " to '" +
                                           graph_.components[at(component_of_[at(to)])].name + "' has " +
                                           std::to_string(hops) + " links; merge switches so that none has more than " +
                                           std::to_string(route::max_lanes));
    }

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

/// The machine of the additive cost model that is nearest from below: as many devices, each like the slowest, every two linked like the
/// two that are furthest apart. Its one rate is that for matrix products in the precision of the network. With `first`, of the first so many devices alone.
inline machine uniform_machine(const cluster& n, precision math = precision::fp32, int first = 0) {
    machine m;
    m.devices = first > 0 && first < n.devices() ? first : n.devices();
    for (int d = 0; d < m.devices; ++d) {
        const device_class& c = n.class_of(d);
        const index_t rate = c.rate(work_kind::matrix_product, math);
        m.gigaflops = d == 0 ? rate : std::min(m.gigaflops, rate);
        m.memory_megabytes = d == 0 ? c.memory_megabytes : std::min(m.memory_megabytes, c.memory_megabytes);
        m.launch = d == 0 ? c.launch : std::max(m.launch, c.launch);
        m.capacity = d == 0 ? c.memory_bytes : std::min(m.capacity, c.memory_bytes);
    }
    const int step = m.devices > 64 ? 7 : 1; // of large machines a sample
    bool linked = false;
    for (int a = 0; a < m.devices; ++a) {
        for (int b = 0; b < m.devices; b += step) {
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

#include "tessera/base/end_header.inl"
