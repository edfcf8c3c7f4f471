// SPDX-License-Identifier: Apache-2.0
// Expressions of expressions: the formula of an operator some of whose inputs are made by others.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/formula.hpp"

namespace tessera::expression {

/// An operator that is an expression, in a network: its formula, the numbers that its attributes are, and which tensor
/// each input is.
struct applied {
    const formula* of = nullptr;
    double attributes[most_attributes] = {};
    int tensors[most_inputs] = {-1, -1, -1, -1};
    int output = -1; ///< tensor
};

/// A formula of tensors; each tensor is one input.
struct composition {
    formula of;
    int tensors[most_inputs] = {-1, -1, -1, -1};
    bool fits = false; ///< within the inputs and nodes that a formula may have
};

namespace detail {

/// Puts the nodes of several formulas on one tape, as long as there is room.
struct composer {
    composition made;
    bool is_full = false;

    constexpr int make(const node& n, int a, int b, int c) {
        tape& t = made.of.nodes;
        if (t.count == max_nodes) { // one that is there already might be found, which is not worth the search
            is_full = true;
            return 0;
        }
        return operands_of(n.what) == 0 ? t.put(n) : t.make(n.what, a, b, c);
    }
    constexpr int add(int a, int b) {
        return a < 0 ? b : b < 0 ? a : make({.what = opcode::add, .of = {-1, -1, -1}, .constant = 0}, a, b, -1);
    }

    /// The number of a tensor among the inputs; of a new one the next.
    constexpr int input_of(int tensor) {
        formula& f = made.of;
        for (int k = 0; k < f.inputs; ++k) {
            if (made.tensors[k] == tensor) {
                return k;
            }
        }
        if (f.inputs == most_inputs) {
            is_full = true;
            return 0;
        }
        made.tensors[f.inputs] = tensor;
        return f.inputs++;
    }

    /// A root of an operator's formula, of nodes in the place of its inputs and of its result's gradient.
    constexpr int copy(const applied& x, int root, const int (&inputs)[most_inputs], int gradient) {
        const tape& from = x.of->nodes;
        const std::uint64_t needed = nodes_for(from, root);
        int to[max_nodes]{};
        for (int i = 0; i <= root; ++i) {
            if ((needed >> static_cast<unsigned>(i) & 1U) == 0) {
                continue;
            }
            const node& n = from.nodes[i];
            const auto operand = [&](int k) { return n.of[k] < 0 ? -1 : to[n.of[k]]; };
            if (n.what == opcode::input) {
                to[i] = inputs[n.of[0]];
            } else if (n.what == opcode::gradient) {
                to[i] = gradient;
            } else if (n.what == opcode::attribute) {
                to[i] =
                    make({.what = opcode::constant, .of = {-1, -1, -1}, .constant = x.attributes[n.of[0]]}, -1, -1, -1);
            } else {
                to[i] = make(n, operand(0), operand(1), operand(2));
            }
        }
        return to[root];
    }
    /// -1: it is 0 whatever the numbers.
    constexpr int copy_gradient(const applied& x, int which, const int (&inputs)[most_inputs], int gradient) {
        const int root = x.of->gradient[which];
        if (gradient < 0 || x.of->nodes.is_constant(root, 0)) {
            return -1;
        }
        return copy(x, root, inputs, gradient);
    }
};

constexpr int count_bits(std::uint32_t mask) {
    int n = 0;
    for (; mask != 0; mask &= mask - 1) {
        ++n;
    }
    return n;
}

/// What the gradients read: inputs alone, from which all is computed again, or the result as well, where that saves
/// inputs.
constexpr void choose_reads(formula& f) {
    const std::uint32_t the_result_bit = std::uint32_t{1} << static_cast<unsigned>(f.inputs);
    std::uint32_t by_inputs[most_inputs] = {};
    std::uint32_t by_result[most_inputs] = {};
    std::uint32_t all_by_inputs = 0;
    std::uint32_t all_by_result = 0;
    for (int k = 0; k < f.inputs; ++k) {
        const std::uint64_t nodes = nodes_for(f.nodes, f.gradient[k]);
        by_inputs[k] = by_result[k] = inputs_among(f.nodes, nodes);
        const bool has_result = (nodes >> static_cast<unsigned>(f.result) & 1U) != 0;
        if (has_result && !f.nodes.is(f.result, opcode::input)) {
            by_result[k] = inputs_among(f.nodes, nodes_for(f.nodes, f.gradient[k], f.result)) | the_result_bit;
        }
        all_by_inputs |= by_inputs[k];
        all_by_result |= by_result[k];
    }
    // Of one input a tie goes to the result, which who reads it keeps anyway; see reads_of().
    const int by = count_bits(all_by_result) - count_bits(all_by_inputs);
    for (int k = 0; k < f.inputs; ++k) {
        f.reads[k] = by < 0 || (by == 0 && f.inputs == 1) ? by_result[k] : by_inputs[k];
    }
}

} // namespace detail

/// The formula of `last` with the formulas of `makers`, each of which makes a tensor that it reads, in their places.
/// Gradients are those that the operators have one after the other, so that what is not chosen stays out of them as it
/// does there.
constexpr composition compose(const applied& last, const applied* makers, int count) {
    using detail::composer;
    composer c;
    formula& f = c.made.of;
    const auto maker_of = [&](int tensor) {
        for (int m = 0; m < count; ++m) {
            if (makers[m].output == tensor) {
                return m;
            }
        }
        return -1;
    };
    // Leaves first, in the order in which the operators read them.
    int leaves[max_nodes][most_inputs]{}; // of every maker, then of the last
    const auto number_leaves = [&](const applied& x, int(&to)[most_inputs]) {
        for (int k = 0; k < x.of->inputs; ++k) {
            to[k] = c.input_of(x.tensors[k]);
        }
    };
    for (int k = 0; k < last.of->inputs; ++k) {
        const int m = maker_of(last.tensors[k]);
        if (m < 0) {
            leaves[count][k] = c.input_of(last.tensors[k]);
        } else {
            number_leaves(makers[m], leaves[m]);
        }
    }
    for (int k = 0; k < f.inputs; ++k) {
        f.nodes.put_leaf(opcode::input, k);
    }
    for (int m = 0; m < count; ++m) {
        const int made = c.copy(makers[m], makers[m].of->result, leaves[m], -1);
        for (int k = 0; k < last.of->inputs; ++k) {
            leaves[count][k] = last.tensors[k] == makers[m].output ? made : leaves[count][k];
        }
    }
    f.result = c.copy(last, last.of->result, leaves[count], -1);
    const std::uint64_t forward = nodes_for(f.nodes, f.result);
    for (int i = 0; i <= f.result; ++i) {
        f.flops += (forward >> static_cast<unsigned>(i) & 1U) != 0 ? flops_of(f.nodes.nodes[i].what) : 0;
    }
    f.linear = detail::is_linear(f.nodes, f.result);
    const int gradient = c.make({.what = opcode::gradient, .of = {-1, -1, -1}, .constant = 0}, -1, -1, -1);
    int of_inputs[most_inputs] = {-1, -1, -1, -1};
    int of_made[max_nodes]{};
    for (int m = 0; m < count; ++m) {
        of_made[m] = -1;
    }
    for (int k = 0; k < last.of->inputs; ++k) {
        const int m = maker_of(last.tensors[k]);
        int& to = m < 0 ? of_inputs[c.input_of(last.tensors[k])] : of_made[m];
        to = c.add(to, c.copy_gradient(last, k, leaves[count], gradient));
    }
    for (int m = count - 1; m >= 0; --m) {
        for (int k = 0; k < makers[m].of->inputs; ++k) {
            int& to = of_inputs[c.input_of(makers[m].tensors[k])];
            to = c.add(to, c.copy_gradient(makers[m], k, leaves[m], of_made[m]));
        }
    }
    f.passes_gradient = true;
    for (int k = 0; k < f.inputs; ++k) {
        f.gradient[k] = of_inputs[k] >= 0
                            ? of_inputs[k]
                            : c.make({.what = opcode::constant, .of = {-1, -1, -1}, .constant = 0}, -1, -1, -1);
        f.passes_gradient = f.passes_gradient && f.gradient[k] == gradient;
    }
    c.made.fits = !c.is_full;
    if (c.made.fits) {
        detail::choose_reads(f);
    }
    return c.made;
}

} // namespace tessera::expression

#include "tessera/base/end_header.inl"
