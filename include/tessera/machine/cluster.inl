// SPDX-License-Identifier: Apache-2.0
// Bodies of cluster.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/machine/cluster.hpp"

#include <utility>

namespace tessera {

TESSERA_INLINE cluster::cluster(const device_graph& g) : graph_(g) {
    require(graph_);
    adjacent_.resize(graph_.components.size());
    for (std::size_t i = 0; i < graph_.links.size(); ++i) {
        const link& l = graph_.links[i];
        adjacent_[to_size(l.from)].push_back(static_cast<int>(i));
        adjacent_[to_size(l.to)].push_back(static_cast<int>(i));
        first_lane_.push_back(static_cast<int>(lane_megabytes_.size()));
        lane_megabytes_.insert(lane_megabytes_.end(), to_size(l.cables * (l.half_duplex ? 1 : 2)), l.megabytes);
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
            const int hops = last_hop(trees_[to_size(d)], component_of_[to_size(d)], component_of_[to_size(e)]).hops;
            if (hops > route::max_lanes) {
                refuse_length(d, e, hops);
            }
        }
    }
}

TESSERA_INLINE const device_class& cluster::class_of(int device) const {
    return graph_.classes[to_size(graph_.components[to_size(component_of_[to_size(device)])].device_class)];
}

TESSERA_INLINE int cluster::node_of(int device) const {
    int c = component_of_[to_size(device)];
    while (graph_.components[to_size(c)].inside >= 0) {
        c = graph_.components[to_size(c)].inside;
    }
    return c;
}

TESSERA_INLINE route cluster::between(int from, int to) const {
    route r;
    if (from == to) {
        return r;
    }
    const std::vector<reached>& tree = tree_of(from);
    const int start = component_of_[to_size(from)];
    const reached last = last_hop(tree, start, component_of_[to_size(to)]);
    if (last.hops > route::max_lanes) {
        refuse_length(from, to, last.hops);
    }
    fixed_vector<int, route::max_lanes> backward;
    int number = last.link;
    for (int here = component_of_[to_size(to)]; here != start;) {
        const link& l = graph_.links[to_size(number)];
        const int direction = l.half_duplex || l.to == here ? 0 : 1;
        backward.push_back(first_lane_[to_size(number)] + direction * l.cables + (from + 31 * to) % l.cables);
        r.latency += l.latency;
        r.megabytes = r.megabytes == 0 || l.megabytes < r.megabytes ? l.megabytes : r.megabytes;
        here = l.to == here ? l.from : l.to;
        number = here == start ? -1 : tree[to_size(switch_[to_size(here)])].link;
    }
    for (int i = backward.size() - 1; i >= 0; --i) {
        r.lanes.push_back(backward[i]);
    }
    return r;
}

TESSERA_INLINE bool cluster::later(const waiting& a, const waiting& b) {
    return a.distance != b.distance ? a.distance > b.distance
           : a.hops != b.hops       ? a.hops > b.hops
                                    : a.component > b.component;
}

TESSERA_INLINE const std::vector<cluster::reached>& cluster::tree_of(int device) const {
    if (trees_[to_size(device)].empty()) {
        build_tree(device);
    }
    return trees_[to_size(device)];
}

TESSERA_INLINE void cluster::build_tree(int device) const {
    std::vector<reached> best(to_size(switches_) + 1); // never empty: that means not built
    std::vector<waiting> heap;
    const int start = component_of_[to_size(device)];
    heap.push_back({0, 0, start});
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end(), later);
        const waiting here = heap.back();
        heap.pop_back();
        if (here.component != start) {
            const reached& known = best[to_size(switch_[to_size(here.component)])];
            if (known.distance != here.distance || known.hops != here.hops) {
                continue;
            }
        }
        for (int number : adjacent_[to_size(here.component)]) {
            const link& l = graph_.links[to_size(number)];
            const int next = l.from == here.component ? l.to : l.from;
            if (switch_[to_size(next)] < 0) {
                continue;
            }
            const waiting found{here.distance + length_[to_size(number)], here.hops + 1, next};
            reached& old = best[to_size(switch_[to_size(next)])];
            if (old.distance < 0 || found.distance < old.distance ||
                (found.distance == old.distance && found.hops < old.hops)) {
                old = {found.distance, found.hops, number};
                heap.push_back(found);
                std::push_heap(heap.begin(), heap.end(), later);
            }
        }
    }
    trees_[to_size(device)] = std::move(best);
}

TESSERA_INLINE cluster::reached cluster::last_hop(const std::vector<reached>& tree, int start, int end) const {
    reached best;
    waiting from;
    for (int number : adjacent_[to_size(end)]) {
        const link& l = graph_.links[to_size(number)];
        const int next = l.from == end ? l.to : l.from;
        const int known = switch_[to_size(next)];
        if (next != start && (known < 0 || tree[to_size(known)].distance < 0)) {
            continue;
        }
        const waiting before = next == start ? waiting{0, 0, start}
                                             : waiting{tree[to_size(known)].distance, tree[to_size(known)].hops, next};
        const reached found{before.distance + length_[to_size(number)], before.hops + 1, number};
        const bool equal = found.distance == best.distance && found.hops == best.hops;
        if (best.distance < 0 || found.distance < best.distance ||
            (found.distance == best.distance && found.hops < best.hops) || (equal && later(from, before))) {
            best = found;
            from = before;
        }
    }
    return best;
}

TESSERA_INLINE void cluster::refuse_length(int from, int to, int hops) const {
    detail::refuse_machine(graph_, "the route from device " + std::to_string(from) + " to '" +
                                       graph_.components[to_size(component_of_[to_size(to)])].name + "' has " +
                                       std::to_string(hops) + " links; merge switches so that none has more than " +
                                       std::to_string(route::max_lanes));
}

TESSERA_INLINE machine uniform_machine(const cluster& n, precision math, int first) {
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

TESSERA_INLINE device_graph fully_linked(const machine& m) {
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
