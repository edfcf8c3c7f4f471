// SPDX-License-Identifier: Apache-2.0
// Bodies of parts.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/coarse/parts.hpp"

namespace tessera::search {

TESSERA_INLINE bool is_part(const cluster& on, int devices) {
    if (devices < 1 || on.devices() % devices != 0) {
        return false;
    }
    const auto with_previous = [&](int d) { return on.node_of(d) == on.node_of(d - 1); };
    for (int d = devices; d < on.devices(); ++d) {
        const int image = d % devices;
        if (on.class_of(d).name != on.class_of(image).name || (image > 0 && with_previous(d) != with_previous(image))) {
            return false;
        }
    }
    return true;
}

TESSERA_INLINE int devices_of_node(const cluster& on) {
    int n = 1;
    while (n < on.devices() && on.node_of(n) == on.node_of(0)) {
        ++n;
    }
    return is_part(on, n) ? n : 0;
}

TESSERA_INLINE std::vector<int> parts_to_search(const cluster& on, index_t batch) {
    std::vector<int> parts;
    for (int n = devices_of_node(on); n > 1 && 4 * n <= on.devices(); n *= 4) {
        if (is_part(on, n) && batch % (on.devices() / n) == 0) {
            parts.push_back(n);
        }
    }
    return parts;
}

TESSERA_INLINE std::vector<int> across_nodes(int devices, int per_node) {
    std::vector<int> order;
    for (int i = 0; i < devices; ++i) {
        const int nodes = devices / per_node;
        order.push_back(i % nodes * per_node + i / nodes);
    }
    return order;
}

TESSERA_INLINE device_graph renumbered(const device_graph& g, const std::vector<int>& order) {
    std::vector<int> place; // component of every device
    for (std::size_t i = 0; i < g.components.size(); ++i) {
        if (g.components[i].device_class >= 0) {
            place.push_back(static_cast<int>(i));
        }
    }
    device_graph r = g;
    std::vector<int> now(g.components.size());
    for (std::size_t i = 0; i < now.size(); ++i) {
        now[i] = static_cast<int>(i);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
        const int old = place[to_size(order[i])];
        now[to_size(old)] = place[i];
        r.components[to_size(place[i])] = g.components[to_size(old)];
    }
    for (component& c : r.components) {
        c.inside = c.inside < 0 ? -1 : now[to_size(c.inside)];
    }
    for (link& l : r.links) {
        l.from = now[to_size(l.from)];
        l.to = now[to_size(l.to)];
    }
    return r;
}

TESSERA_INLINE strategy in_old_numbers(const graph_view& g, const strategy& s, const std::vector<int>& order) {
    strategy r = s;
    r.pool.clear();
    if (s.parameters_on >= 0) {
        r.parameters_on = order[to_size(s.parameters_on)];
    }
    for (int op = 0; op < g.op_count; ++op) {
        const configuration& c = s.ops[to_size(op)];
        const description d = g.describe(op);
        change x = change_of(s, op); // with its cut points
        const std::size_t cuts = x.what.devices >= 0 ? to_size(x.what.devices) : x.pool.size();
        x.pool.resize(cuts);
        x.what.devices = static_cast<int>(cuts);
        for (int i = 0; i < c.shards(); ++i) {
            x.pool.push_back(order[to_size(shard_at(c, s.pool.data(), d, i).device)]);
        }
        apply(r, x);
    }
    return r;
}

TESSERA_INLINE strategy repeated(const graph_view& g, int devices, const strategy& part, int copies) {
    strategy s = part;
    s.pool.clear();
    for (int op = 0; op < g.op_count; ++op) {
        const configuration& from = part.ops[to_size(op)];
        const description d = g.describe(op);
        const int l = d.find_loop(loop_name::sample);
        configuration c = from;
        c.devices = -1;
        const bool split = l >= 0 && splittable(d, l) && d.loops[l].extent >= from.degree[l] * copies;
        if (split) {
            c.degree[l] *= copies;
            c.uneven = c.uneven || d.loops[l].extent % c.degree[l] != 0;
            c.reduces = c.reduces || role(d, l) == loop_role::coupled;
        }
        std::vector<int> where;
        for (int i = 0; i < c.shards(); ++i) {
            const shard x = shard_at(c, nullptr, d, i);
            int image = 0;
            int copy = 0;
            for (int k = 0; k < d.loops.size(); ++k) {
                const bool samples = split && k == l;
                copy = samples ? x.index[k] / from.degree[k] : copy;
                image = image * from.degree[k] + (samples ? x.index[k] % from.degree[k] : x.index[k]);
            }
            image = (image * from.partial + x.summand) * from.replicate + x.replica;
            const int first = from.devices >= 0 ? static_cast<int>(part.pool[to_size(from.devices + image)])
                                                : from.start + from.stride * image;
            where.push_back(first + copy * devices);
        }
        s.ops[to_size(op)] = c;
        s.place(op, where);
    }
    return s;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
