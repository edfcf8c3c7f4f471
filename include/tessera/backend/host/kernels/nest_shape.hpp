// SPDX-License-Identifier: Apache-2.0
// How kernels go over a pass of loop nests: which loop is innermost, and what of the expression does not change along
// it. All of it is known while the kernels are compiled.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/nest/program.hpp"

namespace tessera::host::kernels {

/// The pass that a kernel computes.
template <const nests::program& P, bool Backward, int K>
constexpr const nests::nest_pass& pass_at() {
    if constexpr (Backward) {
        return P.backward.items[K];
    } else {
        return P.forward.items[K];
    }
}

/// The loop along which the largest operands of a pass lie in memory one element after the other; of equals the last.
constexpr int inner_loop(const nests::program& p, const nests::nest_pass& pass) {
    int best = -1;
    int most = -2;
    for (int l = 0; l < p.d.loops.size(); ++l) {
        if (!has(pass.loops, l)) {
            continue;
        }
        int count = 0;
        for (int o = 0; o < p.d.operands.size(); ++o) {
            const operand& x = p.d.operands[o];
            if ((!has(pass.values | pass.gradients, o) && o != pass.target) || x.extents.rank == 0) {
                continue;
            }
            int loops = 0; // an operand of more of them has more elements
            for (int other = 0; other < p.d.loops.size() && loops < 7; ++other) {
                loops += has(nests::loops_of(x), other) ? 1 : 0;
            }
            for (const affine::term& t : x.dim[x.extents.rank - 1].terms) {
                count += t.loop == l && t.coefficient == 1 ? 1 << (3 * loops) : 0;
            }
        }
        count = p.d.loops[l].whole ? -1 : count; // windows are short
        if (count >= most) {
            most = count;
            best = l;
        }
    }
    return best;
}

/// Whether a leaf changes along a loop.
constexpr bool varies(const nests::program& p, const expression::node& leaf, int loop) {
    if (leaf.what == expression::opcode::constant) {
        return false;
    }
    if (nests::is_scalar(leaf)) {
        const nests::scalar& s = p.scalars[leaf.of[0] - nests::first_scalar];
        return s.kind == nests::scalar_kind::index && s.loop == loop;
    }
    return has(nests::loops_of(p.d.operands[leaf.of[0]]), loop);
}

/// The nodes of a pass that change along its innermost loop, as bits.
constexpr std::uint64_t varying_nodes(const nests::program& p, const nests::nest_pass& pass) {
    const int inner = inner_loop(p, pass);
    std::uint64_t all = 0;
    for (int i = 0; i <= pass.root; ++i) {
        const expression::node& n = pass.nodes.nodes[i];
        const int operands = expression::operands_of(n.what);
        bool any = operands == 0 && varies(p, n, inner);
        for (int k = 0; k < operands; ++k) {
            any = any || (all >> static_cast<unsigned>(n.of[k]) & 1U) != 0;
        }
        all |= any ? std::uint64_t{1} << static_cast<unsigned>(i) : 0;
    }
    return all;
}

/// Nodes in the order in which they are computed, or those that are leaves.
struct node_list {
    std::uint8_t at[expression::max_nodes]{};
    int count = 0;

    constexpr int place_of(int node) const {
        for (int k = 0; k < count; ++k) {
            if (at[k] == node) {
                return k;
            }
        }
        return -1;
    }
};

/// Those that a pass needs and that change along the innermost loop, or do not.
constexpr node_list nodes_of(const nests::program& p, const nests::nest_pass& pass, bool varying) {
    node_list l;
    const std::uint64_t needed = expression::nodes_for(pass.nodes, pass.root);
    const std::uint64_t change = varying_nodes(p, pass);
    for (int i = 0; i <= pass.root; ++i) {
        if ((needed >> static_cast<unsigned>(i) & 1U) != 0 &&
            ((change >> static_cast<unsigned>(i) & 1U) != 0) == varying) {
            l.at[l.count++] = static_cast<std::uint8_t>(i);
        }
    }
    return l;
}

/// The leaves that memory or the loops give: what kernels take pointers of, in this order.
constexpr node_list leaves_of(const nests::nest_pass& pass) {
    node_list l;
    const std::uint64_t needed = expression::nodes_for(pass.nodes, pass.root);
    for (int i = 0; i <= pass.root; ++i) {
        const expression::node& n = pass.nodes.nodes[i];
        const bool given = n.what == expression::opcode::input || n.what == expression::opcode::gradient;
        if ((needed >> static_cast<unsigned>(i) & 1U) != 0 && given) {
            l.at[l.count++] = static_cast<std::uint8_t>(i);
        }
    }
    return l;
}

/// What becomes of the numbers along the innermost loop.
enum class row_use : std::uint8_t { store, add, larger, sum, maximum };

constexpr row_use use_of(const nests::program& p, const nests::nest_pass& pass) {
    const operand& target = p.d.operands[pass.target];
    if (!has(nests::loops_of(target), inner_loop(p, pass))) {
        return pass.reduce == reducer::max ? row_use::maximum : row_use::sum;
    }
    if (pass.reduce == reducer::max) {
        return row_use::larger;
    }
    int passes = 0; // that write it
    for (const nests::nest_pass& other : pass.to_gradient ? p.backward : decltype(p.backward){}) {
        passes += other.target == pass.target ? 1 : 0;
    }
    const bool alone = (pass.loops & ~nests::loops_of(target)) == 0 && pass.inside == 0 && passes < 2 &&
                       target.type == element::f32 && !nests::is_window(target);
    return alone ? row_use::store : row_use::add;
}

/// All of that of one pass, found once.
struct nest_shape {
    row_use use = row_use::store;
    std::uint64_t changes = 0;
    node_list fixed, varying, leaves;

    constexpr explicit nest_shape(const nests::program& p, const nests::nest_pass& pass)
        : use(use_of(p, pass)), changes(varying_nodes(p, pass)), fixed(nodes_of(p, pass, false)),
          varying(nodes_of(p, pass, true)), leaves(leaves_of(pass)) {}
};
template <const nests::program& P, bool Backward, int K>
inline constexpr nest_shape nest_shape_of{P, pass_at<P, Backward, K>()};

/// Whether a kernel of one pass computes another one as well.
constexpr bool same_kernel(const nests::program& p, const nests::nest_pass& a, const nests::program& q,
                           const nests::nest_pass& b) {
    if (a.root != b.root || use_of(p, a) != use_of(q, b) || varying_nodes(p, a) != varying_nodes(q, b)) {
        return false;
    }
    for (int i = 0; i <= a.root; ++i) {
        if (!(a.nodes.nodes[i] == b.nodes.nodes[i])) {
            return false;
        }
    }
    return true;
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
