// SPDX-License-Identifier: Apache-2.0
// Blocks of operators that a network repeats, and the same network with fewer of them or with another batch: what is
// true of a few blocks says what is true of many.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/net/graph.hpp"

#include <string>

namespace tessera {

/// `count` blocks of `length` operators each, from operator `first` on, one reading what the one before it makes.
/// Without repetition: one block of all operators.
struct repeated_blocks {
    int first = 0;
    int length = 0;
    int count = 1;

    constexpr int end() const { return first + length * count; }
    /// The block of an operator; -1 before all blocks, `count` after them.
    constexpr int block_of(int op) const { return op < first ? -1 : op >= end() ? count : (op - first) / length; }
    /// The operator that stands for `op` in the same network with `blocks` blocks, the second of which (they are at
    /// least 2) stands for all.
    constexpr int in_blocks(int blocks, int op) const {
        const int b = block_of(op);
        return b < 0 ? op : b == count ? op - end() + first + blocks * length : first + length + (op - first) % length;
    }
};

namespace detail {

/// True where operator `op` + `shift` does with what lies `shift` operators further on what operator `op` does, with
/// parameters of its own.
constexpr bool repeats_after(const graph_view& g, int op, int shift) {
    const op_node& x = g.ops[op];
    const op_node& y = g.ops[op + shift];
    if (!(x.attributes == y.attributes) || x.inputs.size() != y.inputs.size() ||
        !(g.output_of(op).extents == g.output_of(op + shift).extents)) {
        return false;
    }
    for (int k = 0; k < x.inputs.size(); ++k) {
        const int from = g.tensors[x.inputs[k]].producer;
        const bool same = x.inputs[k] == y.inputs[k];
        if (!same && (from < 0 || g.tensors[y.inputs[k]].producer != from + shift)) {
            return false;
        }
    }
    for (int k = 0; k < x.parameters.size(); ++k) {
        if (x.parameters[k] == y.parameters[k]) {
            return false;
        }
    }
    return true;
}

} // namespace detail

/// The repetition that covers the most operators; among equals that of the shortest block. O(operators^2).
constexpr repeated_blocks find_repeats(const graph_view& g) {
    repeated_blocks best{0, g.op_count, 1};
    int covered = 0;
    for (int shift = 1; 2 * shift <= g.op_count; ++shift) {
        for (int op = 0; op + shift < g.op_count;) {
            int run = 0;
            while (op + run + shift < g.op_count && detail::repeats_after(g, op + run, shift)) {
                ++run;
            }
            const int count = run / shift + 1;
            if (count > 1 && count * shift > covered) {
                covered = count * shift;
                best = {op, shift, count};
            }
            op += run + 1;
        }
    }
    return best;
}

/// A network made of another's parts.
struct shortened_graph {
    graph network;
    std::vector<int> op_of; ///< of every operator, the one of the whole network that it is
};

/// The network with `blocks` of its repeated blocks (at least 1) and a batch of `batch`. Throws tessera::error where
/// something behind the blocks reads from another block than the last, or a tensor's first dimension is not the batch.
shortened_graph with_blocks(const graph_view& g, const repeated_blocks& r, int blocks, index_t batch);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/net/repeats.inl"
#endif

#include "tessera/base/end_header.inl"
