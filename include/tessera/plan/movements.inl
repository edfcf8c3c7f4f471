// SPDX-License-Identifier: Apache-2.0
// Bodies of movements.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/movements.hpp"

namespace tessera::detail {

TESSERA_INLINE movement reason_of(const graph_view& g, const tile& x, const task& t) {
    movement m;
    m.what = x.kind;
    m.op = t.op;
    m.when = t.what;
    switch (x.kind) {
    case tile_kind::input:
    case tile_kind::activation:
    case tile_kind::gradient:
        m.source = x.tensor >= 0 ? g.tensors[x.tensor].producer : -1;
        break;
    case tile_kind::intermediate:
    case tile_kind::intermediate_gradient:
        m.source = x.tensor / max_operands;
        break;
    case tile_kind::parameter:
    case tile_kind::parameter_gradient:
    case tile_kind::optimizer_state:
    case tile_kind::residual:
    case tile_kind::code:
        m.parameter = x.tensor;
        break;
    case tile_kind::scalar:
    case tile_kind::scratch:
        break;
    }
    return m;
}

} // namespace tessera::detail

namespace tessera {

TESSERA_INLINE std::vector<movement> movements_of(const graph_view& g, const plan& p) {
    std::vector<movement> all;
    const auto add = [&](const task& t, int which, bool write) {
        const index_t bytes = detail::bytes_across(p, t, which, write);
        if (bytes == 0) {
            return;
        }
        movement m = detail::reason_of(g, p.tiles[to_size(which)], t);
        for (int op = 0; op < g.op_count && !t.params().parts.empty() && m.parameter >= 0;
             ++op) { // each for its first user
            const auto& of = g.ops[op].parameters;
            if (std::find(of.begin(), of.end(), m.parameter) != of.end()) {
                m.op = op;
                break;
            }
        }
        for (std::size_t i = all.size(); i-- > 0;) { // tasks of one operator follow each other
            movement& old = all[i];
            m.bytes = old.bytes;
            if (m == old) {
                old.bytes += bytes;
                return;
            }
        }
        m.bytes = bytes;
        all.push_back(m);
    };
    for (const task& t : p.tasks) {
        std::vector<int> done;
        for (const int r : t.reads) {
            bool again = false;
            for (const int k : done) {
                again = again || k == r;
            }
            if (!again) {
                done.push_back(r);
                add(t, r, false);
            }
        }
        for (const int w : t.writes) {
            add(t, w, true);
        }
    }
    return all;
}

TESSERA_INLINE bool concerns(const graph_view& g, const movement& m, int op) {
    bool mine = m.op == op || m.source == op;
    for (const int p : g.ops[op].parameters) {
        mine = mine || m.parameter == p;
    }
    return mine;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
