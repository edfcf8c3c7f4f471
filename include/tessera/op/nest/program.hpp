// SPDX-License-Identifier: Apache-2.0
// What follows from the body of an operator that is written as loop nests: passes, each an expression at every point of
// some loops.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/formula.hpp"
#include "tessera/op/record.hpp"

namespace tessera::nests {

inline constexpr int max_scalars = 16;
inline constexpr int max_backward = 18; ///< passes

/// A number that is no element of an operand: the extent of a loop, a loop's index, a number among the operator's
/// attributes, the gradient of what a loss makes, which is the same for all of it.
enum class scalar_kind : std::uint8_t { extent, index, number, loss_scale };
struct scalar {
    scalar_kind kind = scalar_kind::number;
    int loop = -1;
    double value = 0; ///< of a number, or an extent; what depends on attributes and shapes is not the same in every use

    constexpr bool is_like(const scalar& b) const { return kind == b.kind && loop == b.loop; }
};

// Leaves of the tapes: `input` with the number of an operand is that operand's value, with first_scalar + i scalar
// number i; `gradient` with the number of an operand is its gradient.
inline constexpr int first_scalar = 32;

/// One expression at each point of `loops`, which is reduced into an operand's value, or its gradient, at the index
/// that this has there. Points at which a window (an operand in `inside`) lies outside of its tensor are left out.
struct nest_pass {
    expression::tape nodes;
    int root = -1;
    std::uint32_t loops = 0;
    std::uint32_t inside = 0;
    std::uint32_t values = 0;    ///< operands whose values it reads
    std::uint32_t gradients = 0; ///< operands whose gradients it reads
    int target = -1;
    bool to_gradient = false;
    reducer reduce = reducer::none;
};

/// All passes of an operator. Several of `backward` may add to one gradient.
struct program {
    description d; ///< with made-up extents: those of a use are in its own description
    fixed_vector<nest_pass, max_nests> forward;
    fixed_vector<nest_pass, max_backward> backward;
    fixed_vector<scalar, max_scalars> scalars;
    initial_values initial[3] = {};
    int inputs = 0;
    bool loss = false;
    bool ignores = false;   ///< rows of a certain label
    bool asks_rank = false; ///< another rank of the first input has another program
};

/// What a record has of an operator that is written as loop nests.
struct generator {
    const program* of_rank[max_rank + 1] = {}; ///< of the first input; null: it does not take that rank
    bool takes[max_rank + 1] = {}; ///< the same as a number: g++ compares no addresses when it compiles for sanitizers
    /// The scalars' values in a use of the operator.
    void (*scalars)(const op_attributes&, const description&, double* to) = nullptr;
};

/// The program of a use.
const program& program_of(const op_attributes& a, const description& d);

/// The scalars' values in a call.
template <class Call>
void scalars_of_call(const program& p, const Call& c, double* to) {
    c.attributes.kind.record->generated->scalars(c.attributes, *c.d, to);
    for (int i = 0; i < p.scalars.size(); ++i) {
        to[i] = p.scalars[i].kind == scalar_kind::loss_scale ? c.loss_scale : to[i];
    }
}

constexpr bool is_scalar(const expression::node& n) {
    return n.what == expression::opcode::input && n.of[0] >= first_scalar;
}
constexpr bool is_operand(const expression::node& n) {
    return n.what == expression::opcode::input && n.of[0] < first_scalar;
}

/// Loops that the index of an operand depends on.
constexpr std::uint32_t loops_of(const operand& o) {
    std::uint32_t mask = 0;
    for (int k = 0; k < o.extents.rank; ++k) {
        for (const affine::term& t : o.dim[k].terms) {
            mask |= bit(t.loop);
        }
    }
    return mask;
}

/// Whether some points of its loops may lie outside of an operand: any index but loops by themselves.
constexpr bool is_window(const operand& o) {
    for (int k = 0; k < o.extents.rank; ++k) {
        const affine& a = o.dim[k];
        if (a.offset != 0 || a.terms.size() > 1 || (a.terms.size() == 1 && a.terms[0].coefficient != 1)) {
            return true;
        }
    }
    return false;
}

/// The part of a tape that a node needs, on another tape; its number there.
constexpr int copy_nodes(const expression::tape& from, int root, expression::tape& to) {
    int where[expression::max_nodes] = {};
    const std::uint64_t needed = expression::nodes_for(from, root);
    for (int i = 0; i <= root; ++i) {
        if ((needed >> static_cast<unsigned>(i) & 1U) == 0) {
            continue;
        }
        expression::node n = from.nodes[i];
        for (int k = 0; k < expression::operands_of(n.what); ++k) {
            n.of[k] = static_cast<std::int8_t>(where[static_cast<unsigned char>(n.of[k])]);
        }
        where[i] = to.put(n);
    }
    return where[root];
}

/// Finds out what a pass reads.
constexpr void note_reads(nest_pass& p, const description& d) {
    const std::uint64_t needed = expression::nodes_for(p.nodes, p.root);
    for (int i = 0; i <= p.root; ++i) {
        const expression::node& n = p.nodes.nodes[i];
        if ((needed >> static_cast<unsigned>(i) & 1U) == 0) {
            continue;
        }
        p.values |= is_operand(n) ? bit(n.of[0]) : 0;
        p.gradients |= n.what == expression::opcode::gradient ? bit(n.of[0]) : 0;
    }
    for (int o = 0; o < d.operands.size(); ++o) {
        p.inside |= (has(p.values | p.gradients, o) || o == p.target) && is_window(d.operands[o]) ? bit(o) : 0;
    }
}

} // namespace tessera::nests

#ifndef TESSERA_COMPILED
#include "tessera/op/nest/program.inl"
#endif

#include "tessera/base/end_header.inl"
