// SPDX-License-Identifier: Apache-2.0
// A machine as several equal parts that do the same, each with samples of its own: strategies for one part are few and quick to simulate, and
// are searched first (coarse to fine).
#pragma once

#include "tessera/machine/cluster.hpp"
#include "tessera/net/with_batch.hpp"
#include "tessera/search/experts.hpp"

namespace tessera::search {

/// True if the machine is made of copies of its first `devices` devices: device i is of the class of device i % devices, and within a copy neighbours share a node
/// where their images do.
inline bool is_part(const cluster& on, int devices) {
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

/// Numbers of devices of parts that are worth searching before the whole machine, each at most a quarter of the next: one node, then several.
inline std::vector<int> parts_to_search(const cluster& on, index_t batch) {
    int per_node = 0;
    for (int d = 0; d < on.devices(); ++d) {
        per_node += on.node_of(d) == on.node_of(0) ? 1 : 0;
    }
    std::vector<int> parts;
    for (int n = per_node; n > 1 && 4 * n <= on.devices(); n *= 4) {
        if (is_part(on, n) && batch % (on.devices() / n) == 0) {
            parts.push_back(n);
        }
    }
    return parts;
}

/// What a whole machine does when each of `copies` parts of `devices` devices follows a strategy for a part, with a share of the samples each: operator by operator so
/// many times the degree of the samples, the shards of part k on the devices from k * devices on. `g` is the network with all samples. An
/// operator without samples stays on the first part. (The strategy has no cut points.)
inline strategy repeated(const strategy& part, const graph_view& g, int devices, int copies) {
    strategy s(g);
    s.micro_batches = part.micro_batches;
    for (int op = 0; op < g.op_count; ++op) {
        const configuration& from = part.ops[static_cast<std::size_t>(op)];
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
            image = (image * from.partial + x.part) * from.replicate + x.replica;
            const int first = from.devices >= 0
                                  ? static_cast<int>(part.pool[static_cast<std::size_t>(from.devices + image)])
                                  : from.start + from.stride * image;
            where.push_back(first + copy * devices);
        }
        s.ops[static_cast<std::size_t>(op)] = c;
        s.place(op, where);
    }
    return s;
}

} // namespace tessera::search
