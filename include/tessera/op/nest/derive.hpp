// SPDX-License-Identifier: Apache-2.0
// The gradients of an operator that is written as loop nests: for every operand the derivative of each nest that reads
// it, times the gradient of what that nest writes, summed over the loops that do not index the operand.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/nest/writer.hpp"

namespace tessera::nests {

namespace detail {

using expression::opcode;
using expression::tape;

/// A scalar as a node.
constexpr int scalar_node(tape& t, scalar_kind kind, int loop, fixed_vector<scalar, max_scalars>& scalars) {
    for (int i = 0; i < scalars.size(); ++i) {
        if (scalars[i].is_like({kind, loop, 0})) {
            return t.put_leaf(opcode::input, first_scalar + i);
        }
    }
    if (!scalars.push_back({kind, loop, 0})) {
        an_operator_has_too_many_loops_operands_nests_or_numbers();
    }
    return t.put_leaf(opcode::input, first_scalar + scalars.size() - 1);
}

/// The number of a point among those that a pass reduces, in row-major order, as a node.
constexpr int place_in_reduction(tape& t, const program& p, const nest_pass& pass,
                                 fixed_vector<scalar, max_scalars>& scalars) {
    const auto leaf = [&](scalar_kind kind, int loop) { return scalar_node(t, kind, loop, scalars); };
    int place = -1;
    for (int l = 0; l < p.d.loops.size(); ++l) {
        if (has(pass.loops, l) && !has(loops_of(p.d.operands[pass.target]), l)) {
            const int index = leaf(scalar_kind::index, l);
            place = place < 0
                        ? index
                        : t.make(opcode::add, t.make(opcode::multiply, place, leaf(scalar_kind::extent, l)), index);
        }
    }
    return place;
}

/// The derivative of what a pass makes by an operand, times the gradient of that; -1: there is none.
constexpr int term_of(tape& t, const program& p, const nest_pass& pass, int o, int first,
                      fixed_vector<scalar, max_scalars>& scalars) {
    expression::detail::differentiation diff{t};
    const int root = copy_nodes(pass.nodes, pass.root, t);
    const int slope = diff.derivative(root, o);
    if (slope < 0) {
        return -1;
    }
    int gradient = p.loss && pass.target == p.d.output() ? scalar_node(t, scalar_kind::loss_scale, -1, scalars)
                                                         : t.put_leaf(opcode::gradient, pass.target);
    if (pass.reduce == reducer::max) { // of the first of the largest
        const int place = place_in_reduction(t, p, pass, scalars);
        const int chosen = t.put_leaf(opcode::input, first);
        gradient = t.make(opcode::select, t.make(opcode::equal, t.make(opcode::negate, place), chosen), gradient,
                          t.put_constant(0));
    }
    return diff.pushed(slope, gradient);
}

/// Whether a gradient reaches an operand from a pass.
constexpr bool has_slope(const nest_pass& pass, int o) {
    if (!has(pass.values, o)) {
        return false;
    }
    tape t;
    const int root = copy_nodes(pass.nodes, pass.root, t);
    return expression::detail::differentiation{t}.derivative(root, o) >= 0;
}

/// 0: it does not depend on inputs; 1: it is linear in them taken together; 2: neither. What the nests before are is in
/// `of_operand`.
constexpr int linearity(const tape& t, int i, const int (&of_operand)[max_operands]) {
    const expression::node& n = t.nodes[i];
    const auto of = [&](int k) { return linearity(t, n.of[k], of_operand); };
    switch (n.what) {
    case opcode::input:
        return is_operand(n) ? of_operand[static_cast<unsigned char>(n.of[0])] : 0;
    case opcode::constant:
        return 0;
    case opcode::add:
    case opcode::subtract: {
        const int a = of(0);
        const int b = of(1);
        return a == b ? a : 2;
    }
    case opcode::multiply: {
        const int a = of(0);
        const int b = of(1);
        return a + b < 2 ? a + b : 2;
    }
    case opcode::negate:
        return of(0);
    case opcode::divide:
        return of(1) == 0 ? of(0) : 2;
    case opcode::select: {
        const int a = of(1);
        return of(0) == 0 && a == of(2) ? a : 2;
    }
    default:
        break;
    }
    for (int k = 0; k < expression::operands_of(n.what); ++k) {
        if (of(k) != 0) {
            return 2;
        }
    }
    return 0;
}

constexpr bool is_linear(const program& p) {
    int of_operand[max_operands] = {};
    for (int o = 0; o < p.d.operands.size(); ++o) {
        if (p.d.operands[o].kind == operand_kind::parameter) { // its gradient reads inputs, which are not partial then
            return false;
        }
        of_operand[o] = p.d.operands[o].kind == operand_kind::input ? 1 : 0;
    }
    for (const nest_pass& pass : p.forward) {
        const int made = linearity(pass.nodes, pass.root, of_operand);
        of_operand[pass.target] = pass.reduce == reducer::max && made > 0 ? 2 : made;
    }
    return of_operand[p.d.output()] == 1;
}

/// The intermediate that says which of equal numbers is the first largest one: the largest of their places, negated.
/// -1: there is none.
constexpr int first_of_max(const program& p, int target) {
    for (const nest_pass& pass : p.forward) {
        if (pass.reduce == reducer::max && pass.target != target && has(pass.values, target) &&
            !p.d.operands[pass.target].differentiable) {
            return pass.target;
        }
    }
    return -1;
}

/// Appends, before the last pass, what finds the first largest numbers of pass `k`.
constexpr void add_first(program& p, int k) {
    const nest_pass of = p.forward[k];
    operand x = p.d.operands[of.target];
    x.differentiable = false;
    x.slot = 0;
    for (const operand& other : p.d.operands) {
        x.slot += other.kind == operand_kind::intermediate ? 1 : 0;
    }
    if (!p.d.operands.push_back(x)) {
        an_operator_has_too_many_loops_operands_nests_or_numbers();
    }
    nest_pass pass;
    pass.loops = of.loops;
    pass.target = p.d.operands.size() - 1;
    pass.reduce = reducer::max;
    tape& t = pass.nodes;
    const int root = copy_nodes(of.nodes, of.root, t);
    const int place = place_in_reduction(t, p, of, p.scalars);
    pass.root = t.make(opcode::select, t.make(opcode::equal, root, t.put_leaf(opcode::input, of.target)),
                       t.make(opcode::negate, place), t.put_constant(-__builtin_inf()));
    note_reads(pass, p.d);
    const nest_pass last = p.forward[p.forward.size() - 1];
    p.forward[p.forward.size() - 1] = pass;
    if (!p.forward.push_back(last)) {
        an_operator_has_too_many_loops_operands_nests_or_numbers();
    }
}

/// Whether a gradient goes on from what a pass makes to something that the pass reads.
constexpr bool goes_on(const program& p, const nest_pass& pass) {
    for (int o = 0; o < p.d.operands.size(); ++o) {
        if (p.d.operands[o].differentiable && has_slope(pass, o)) {
            return true;
        }
    }
    return false;
}

/// Which intermediates gradients flow to, and on from. Those of maxima get a pass that finds the first one.
constexpr void find_differentiable(program& p) {
    for (int k = 0; k + 1 < p.forward.size(); ++k) {
        p.d.operands[p.forward[k].target].differentiable = goes_on(p, p.forward[k]);
    }
    for (int k = p.forward.size() - 2; k >= 0; --k) {
        operand& x = p.d.operands[p.forward[k].target];
        bool flows = false;
        for (int later = k + 1; later < p.forward.size(); ++later) {
            flows = flows || (p.d.operands[p.forward[later].target].differentiable &&
                              has_slope(p.forward[later], p.forward[k].target));
        }
        x.differentiable = x.differentiable && flows;
    }
    const int written = p.forward.size() - 1;
    for (int k = 0; k < written; ++k) {
        if (p.forward[k].reduce == reducer::max && p.d.operands[p.forward[k].target].differentiable) {
            add_first(p, k);
        }
    }
}

/// The loop nests of the description: what backends' passes read, and what they cost.
constexpr void describe_nests(program& p) {
    p.d.nests = decltype(p.d.nests){};
    for (const nest_pass& pass : p.forward) {
        int flops = pass.reduce == reducer::none ? 0 : 1;
        const std::uint64_t needed = expression::nodes_for(pass.nodes, pass.root);
        for (int i = 0; i <= pass.root; ++i) {
            flops +=
                (needed >> static_cast<unsigned>(i) & 1U) != 0 ? expression::flops_of(pass.nodes.nodes[i].what) : 0;
        }
        p.d.nests.push_back({pass.loops, pass.values, pass.target, pass.reduce, flops});
    }
    p.d.linear = !p.loss && is_linear(p);
}

/// Plans take the shards of an operator to differ in every nest. So a loop that a nest does not have is not split.
constexpr void keep_whole(description& d) {
    for (int l = 0; l < d.loops.size(); ++l) {
        for (const nest& n : d.nests) {
            d.loops[l].whole = d.loops[l].whole || !has(n.loops, l);
        }
    }
}

/// The passes that make the gradient of operand `o`.
constexpr void add_gradient(program& p, int o) {
    bool done[max_nests] = {};
    std::uint32_t reads = 0;
    for (int k = 0; k < p.forward.size(); ++k) {
        if (done[k]) {
            continue;
        }
        nest_pass pass;
        pass.target = o;
        pass.to_gradient = true;
        pass.reduce = reducer::sum;
        pass.loops = p.forward[k].loops;
        for (int other = k; other < p.forward.size(); ++other) { // those over the same points are one
            const nest_pass& of = p.forward[other];
            if (done[other] || of.loops != pass.loops || of.inside != p.forward[k].inside) {
                continue;
            }
            done[other] = true;
            if (!has(of.values, o) || !p.d.operands[of.target].differentiable) {
                continue;
            }
            const int first = of.reduce == reducer::max ? first_of_max(p, of.target) : -1;
            const int term = term_of(pass.nodes, p, of, o, first, p.scalars);
            if (term >= 0) {
                pass.root = pass.root < 0 ? term : pass.nodes.make(opcode::add, pass.root, term);
            }
        }
        if (pass.root < 0) {
            continue;
        }
        note_reads(pass, p.d);
        pass.inside = p.forward[k].inside;
        reads |= pass.values | pass.gradients;
        if (!p.backward.push_back(pass)) {
            an_operator_has_too_many_loops_operands_nests_or_numbers();
        }
    }
    p.d.operands[o].gradient_reads = reads & ~bit(p.d.output());
    for (const nest_pass& pass : p.backward) { // the output's gradient is always there, its value where it is read
        p.d.operands[o].gradient_reads |= pass.target == o ? pass.values & bit(p.d.output()) : 0;
    }
}

} // namespace detail

/// The program that a body has written.
constexpr program derive(const nest_writer& w) {
    program p;
    p.d = w.described();
    p.forward = w.passes();
    p.scalars = w.scalars();
    p.inputs = w.inputs();
    p.asks_rank = w.asks_rank();
    p.loss = w.is_loss();
    p.ignores = w.ignores();
    for (int k = 0; k < 3; ++k) {
        p.initial[k] = w.initial(k);
    }
    detail::find_differentiable(p);
    detail::describe_nests(p);
    for (int o = 0; o < p.d.operands.size(); ++o) {
        const operand& x = p.d.operands[o];
        if (x.differentiable && (x.kind == operand_kind::input || x.kind == operand_kind::parameter ||
                                 x.kind == operand_kind::intermediate)) {
            detail::add_gradient(p, o);
        }
    }
    return p;
}

/// The description of a use, whose loops, operands and indices a body has written with the extents of that use: the
/// rest is the program's.
constexpr description describe(const nest_writer& w, const program& p) {
    description d = w.described();
    for (int o = d.operands.size(); o < p.d.operands.size(); ++o) { // what finds first maxima
        operand x = p.d.operands[o];
        for (int k = 0; k < x.extents.rank; ++k) {
            x.extents.extent[k] = x.dim[k].terms.empty() ? 1 : d.loops[x.dim[k].terms[0].loop].extent;
        }
        d.operands.push_back(x);
    }
    for (int o = 0; o < d.operands.size(); ++o) {
        d.operands[o].differentiable = p.d.operands[o].differentiable;
        d.operands[o].gradient_reads = p.d.operands[o].gradient_reads;
    }
    d.nests = p.d.nests;
    d.linear = p.d.linear;
    detail::keep_whole(d);
    return d;
}

} // namespace tessera::nests

#include "tessera/base/end_header.inl"
