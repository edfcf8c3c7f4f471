// SPDX-License-Identifier: Apache-2.0
// Bodies of task_time.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/task_time.hpp"

namespace tessera::simulation {

TESSERA_INLINE index_t tile_bytes(const tile& t, const task& by) {
    const bool sliced =
        by.params().slices > 1 && t.slices == 1 && t.kind != tile_kind::optimizer_state && t.kind != tile_kind::scalar;
    return (sliced ? even_part(t.elements, by.params().slices, by.params().slice).size() : t.elements) *
           bytes_of(t.type);
}

TESSERA_INLINE void add_shapes(const description& d, const task& t, cost::work& w) {
    const bool forward = t.what == pass::forward || t.what == pass::evaluate || t.what == pass::recompute;
    if (w.kind == work_kind::elementwise || t.what == pass::update) {
        return;
    }
    if (d.facts.merges) {
        w.of_pairs = forward ? cost::attention_pass::forward : cost::attention_pass::backward;
        return;
    }
    const auto add = [&](const product_shape& p) {
        if (p.rows > 0) {
            w.products.push_back(p);
        }
    };
    for (int k = t.compute().first_nest; forward && k <= t.compute().last_nest; ++k) {
        add(product_of(d, k, t.compute().ranges));
    }
    for (int o = 0; !forward && o < d.operands.size(); ++o) {
        if (has(t.compute().emits, o) && !d.operands[o].additive) {
            add(product_of(d, t.compute().first_nest, t.compute().ranges, o));
        }
    }
}

TESSERA_INLINE cost::work work_of(const graph_view& g, const description& d, const std::vector<tile>& tiles,
                                  const task& t) {
    cost::work w;
    for (int r : t.reads) {
        w.bytes += tile_bytes(tiles[to_size(r)], t);
    }
    for (int x : t.writes) {
        w.bytes += tile_bytes(tiles[to_size(x)], t);
    }
    if (t.params().state >= 0) {
        w.bytes += (t.kind() == task_kind::norm ? 1 : 2) * tiles[to_size(t.params().state)].bytes;
    }
    if (t.kind() == task_kind::compute) {
        w.kind = g.facts(t.op).work;
        w.flops = flops_of(d, t);
        w.math = g.ops[t.op].attributes.math;
        add_shapes(d, t, w);
    }
    return w;
}

TESSERA_INLINE cost::task_signature signature_of(const graph_view& g, const std::vector<tile>& tiles, const task& t) {
    cost::task_signature s;
    s.what = t.what;
    s.activates = t.compute().activates;
    s.fused = t.compute().fused;
    if (t.kind() == task_kind::compute) {
        s.attributes = g.ops[t.op].attributes;
        s.first_nest = t.compute().first_nest;
        s.last_nest = t.compute().last_nest;
        s.emits = t.compute().emits;
        for (int l = 0; l < max_loops; ++l) {
            s.extent[l] = t.compute().ranges[l].size();
        }
    } else if (!t.reads.empty()) {
        s.extent[0] = even_part(tiles[to_size(t.reads[0])].elements, t.params().slices, t.params().slice).size();
        s.sources = static_cast<int>(t.reads.size());
        for (std::size_t i = 0; i < t.params().parts.size();
             ++i) { // of several parameters: what it writes of all of them
            const tile& x = tiles[to_size(t.writes[first_write_of(t, i)])];
            s.extent[1] += tile_bytes(x, t) / bytes_of(x.type);
        }
    }
    return s;
}

TESSERA_INLINE index_t task_times::operator()(const graph_view& g, const description& d, const std::vector<tile>& tiles,
                                              const task& t, const device_class& on) const {
    if (t.compute().fused) {
        return 1; // counted where it is done
    }
    const index_t known = measured != nullptr ? measured->find(signature_of(g, tiles, t)) : 0;
    if (!t.params().parts.empty() && known == 0) { // one pass for each
        index_t total = 0;
        for_each_part(t, [&](const task& one) { total += (*this)(g, d, tiles, one, on); });
        return total;
    }
    return known > 0 ? known : cost::roofline_time(work_of(g, d, tiles, t), on, reached);
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
