// SPDX-License-Identifier: Apache-2.0
// Operators that a search may change together: the same operator of all steps of an unrolled network, and a layer with
// what follows it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/graph.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera::search {

/// Every operator is of one kind, and every kind in one block.
struct operator_groups {
    std::vector<int> kind_of;             ///< by operator
    std::vector<int> block_of;            ///< by operator
    std::vector<std::vector<int>> kinds;  ///< operators of each, in order
    std::vector<std::vector<int>> blocks; ///< operators of each, in order
};

namespace detail {

/// Layers with weights that they multiply or look up; norms belong to what they follow.
constexpr bool starts_block(const graph_view& g, int op) {
    bool any = false;
    for (const int p : g.ops[op].parameters) {
        any = any || (g.parameters[p].extents.rank > 1 && !g.parameters[p].state);
    }
    return any;
}

/// Uses that differ in the place of their input alone (slices of the same extent) are alike.
constexpr bool alike(const op_attributes& a, const op_attributes& b) {
    const auto& without_place = record_of(a).without_place;
    return a.kind == b.kind && (without_place == nullptr ? a == b : without_place(a) == without_place(b));
}

struct forest {
    std::vector<int> up;
    int root(int i);
    void join(int a, int b);
};

} // namespace detail

/// Blocks: layers that share a parameter are in one; so are layers whose outputs one operator takes directly (both
/// products of an LSTM's gates); all other operators are in the block of the latest of those that make their inputs.
/// Kinds: operators of a block of the same layer, attributes (but for where slices begin) and shape.
operator_groups group_operators(const graph_view& g);

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/groups.inl"
#endif

#include "tessera/base/end_header.inl"
