// SPDX-License-Identifier: Apache-2.0
// How long a device computes on one task of a plan: measured where a profile has it, else by the roofline.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/profile.hpp"
#include "tessera/cost/roofline.hpp"
#include "tessera/net/graph.hpp"
#include "tessera/plan/parts.hpp"

namespace tessera::simulation {

/// Floating-point operations of a compute task: of its nests forward, and one nest's worth for every gradient that takes a multiplication.
constexpr index_t flops_of(const description& d, const task& t) {
    index_t flops = 0;
    if (t.what == pass::forward || t.what == pass::evaluate || t.what == pass::recompute) {
        for (int k = t.first_nest; k <= t.last_nest; ++k) {
            flops += flops_of_nest(d, k, t.ranges);
        }
    } else if (t.what != pass::update) {
        for (int o = 0; o < d.operands.size(); ++o) {
            if (has(t.emits, o) && !d.operands[o].additive) {
                flops += flops_of_nest(d, t.first_nest, t.ranges);
            }
        }
    }
    return flops;
}

/// Bytes of one tile, or of a slice of it.
inline index_t tile_bytes(const tile& t, const task& by) {
    const bool sliced =
        by.slices > 1 && t.slices == 1 && t.kind != tile_kind::optimizer_state && t.kind != tile_kind::scalar;
    return (sliced ? even_part(t.elements, by.slices, by.slice).size() : t.elements) * bytes_of(t.type);
}

/// The work of a compute, reduce, update or norm task. Copies are transfers, see simulate/.
inline cost::work work_of(const graph_view& g, const description& d, const std::vector<tile>& tiles, const task& t) {
    cost::work w;
    for (int r : t.reads) {
        w.bytes += tile_bytes(tiles[static_cast<std::size_t>(r)], t);
    }
    for (int x : t.writes) {
        w.bytes += tile_bytes(tiles[static_cast<std::size_t>(x)], t);
    }
    if (t.state >= 0) {
        w.bytes += (t.kind == task_kind::norm ? 1 : 2) * tiles[static_cast<std::size_t>(t.state)].bytes;
    }
    if (t.kind == task_kind::compute) {
        w.kind = g.facts(t.op).work;
        w.flops = flops_of(d, t);
        w.math = g.ops[t.op].attributes.math;
    }
    return w;
}

inline cost::task_signature signature_of(const graph_view& g, const std::vector<tile>& tiles, const task& t) {
    cost::task_signature s;
    s.what = t.what;
    s.activates = t.activates;
    s.fused = t.fused;
    if (t.kind == task_kind::compute) {
        s.attributes = g.ops[t.op].attributes;
        s.first_nest = t.first_nest;
        s.last_nest = t.last_nest;
        s.emits = t.emits;
        for (int l = 0; l < max_loops; ++l) {
            s.extent[l] = t.ranges[l].size();
        }
    } else if (!t.reads.empty()) {
        s.extent[0] = even_part(tiles[static_cast<std::size_t>(t.reads[0])].elements, t.slices, t.slice).size();
        s.sources = static_cast<int>(t.reads.size());
        for (std::size_t i = 0; i < t.parts.size(); ++i) { // of several parameters: what it writes of all of them
            const tile& x = tiles[static_cast<std::size_t>(t.writes[first_write_of(t, i)])];
            s.extent[1] += tile_bytes(x, t) / bytes_of(x.type);
        }
    }
    return s;
}

/// Where task times come from.
struct task_times {
    const cost::profile* measured = nullptr; ///< asked first, if there is one
    cost::roofline_efficiency reached;
    /// False: who updates a slice of a parameter takes its gradients from every other device and hands it to every other one, as parameter servers do,
    /// instead of by the best collective. Threads of a host always do.
    bool collectives = true;
    /// The tasks are those of one of so many equal parts of a machine, of its first devices; all parts do the same at the same time, each with samples of its
    /// own. Gradients are summed over all parts, see search/coarse/parts.hpp.
    int parts = 1;
    /// 10^6 bytes per second at which a parameter server takes gradients in, each worker's counted: what its software reaches. 0: as fast as memory.
    index_t server_megabytes = 0;

    index_t operator()(const graph_view& g, const description& d, const std::vector<tile>& tiles, const task& t,
                       const device_class& on) const {
        if (t.fused) {
            return 1; // counted where it is done
        }
        const index_t known = measured != nullptr ? measured->find(signature_of(g, tiles, t)) : 0;
        if (!t.parts.empty() && known == 0) { // one pass for each
            index_t total = 0;
            for_each_part(t, [&](const task& one) { total += (*this)(g, d, tiles, one, on); });
            return total;
        }
        return known > 0 ? known : cost::roofline_time(work_of(g, d, tiles, t), on, reached);
    }
};

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
