// SPDX-License-Identifier: Apache-2.0
// Bodies of fused.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/fused.hpp"

namespace tessera::search::detail {

TESSERA_INLINE lower_options renumbered(lower_options o, const fused_network& f) {
    for (int& t : o.wanted) {
        t = f.tensors[to_size(t)];
    }
    o.output_gradient = o.output_gradient < 0 ? -1 : f.tensors[to_size(o.output_gradient)];
    return o;
}

TESSERA_INLINE strategy taken_apart(const graph_view& g, const fused_network& f, const strategy& fused) {
    strategy s = fused;
    s.ops.assign(to_size(g.op_count), configuration{});
    std::vector<int> reader(to_size(g.tensor_count),
                            -1); // the last; of what vanished it is the only one
    for (int op = 0; op < g.op_count; ++op) {
        for (const int t : g.ops[op].inputs) {
            reader[to_size(t)] = op;
        }
    }
    std::size_t next = f.ops.size();
    for (int op = g.op_count; op-- > 0;) { // readers come later, and have theirs
        configuration& c = s.ops[to_size(op)];
        const int output = g.ops[op].output;
        if (f.tensors[to_size(output)] >= 0) {
            c = fused.ops[--next];
        } else {
            c = s.ops[to_size(reader[to_size(output)])];
        }
    }
    return s;
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE finished_step simulate_fused(const graph_view& g, const cluster& on, const strategy& s,
                                            const simulation::task_times& times, const lower_options& lowering) {
    const fused_network f = fuse(g, s, lowering.wanted, lowering.kind == run_kind::training);
    return simulate_finished(f.network.view(), on, f.how, times, detail::renumbered(lowering, f));
}

TESSERA_INLINE search_found run_fused(const search_record& r, const graph_view& g, const cluster& on,
                                      const search_options& o) {
    const fused_network f = fuse(g, strategy(g), o.lowering.wanted, o.lowering.kind == run_kind::training);
    search_options how = o;
    how.lowering = detail::renumbered(o.lowering, f);
    search_found found = r.run(f.network.view(), on, how);
    found.best = detail::taken_apart(g, f, found.best);
    return found;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
