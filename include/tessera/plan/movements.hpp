// SPDX-License-Identifier: Apache-2.0
// What a plan moves between devices, and why.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/print.hpp"

#include <algorithm>

namespace tessera {

/// Bytes that cross between devices in a step for one reason.
struct movement {
    tile_kind what = tile_kind::activation;
    int source = -1; ///< operator that made the tensor, or -1: it is an input of the network, or a parameter
    int parameter = -1;
    int op = -1; ///< operator whose task moves it
    pass when = pass::forward;
    index_t bytes = 0;

    friend constexpr bool operator==(const movement&, const movement&) = default;
};

namespace detail {

/// What a tile's bytes are counted under, without their number.
inline movement reason_of(const graph_view& g, const tile& x, const task& t) {
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

} // namespace detail

/// All that a plan moves between devices, summed by reason, in the order of the first such task. Together it is the plan's moved_bytes, and 8
/// bytes for every norm that is read across devices.
inline std::vector<movement> movements_of(const graph_view& g, const plan& p) {
    std::vector<movement> all;
    const auto add = [&](const task& t, int which, bool write) {
        const index_t bytes = detail::bytes_across(p, t, which, write);
        if (bytes == 0) {
            return;
        }
        movement m = detail::reason_of(g, p.tiles[static_cast<std::size_t>(which)], t);
        for (int op = 0; op < g.op_count && !t.parts.empty() && m.parameter >= 0; ++op) { // each for its first user
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

/// True for what moves because of an operator: what it made, what its own tasks fetch, and its parameters.
inline bool concerns(const graph_view& g, const movement& m, int op) {
    bool mine = m.op == op || m.source == op;
    for (const int p : g.ops[op].parameters) {
        mine = mine || m.parameter == p;
    }
    return mine;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
