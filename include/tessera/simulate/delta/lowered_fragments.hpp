// SPDX-License-Identifier: Apache-2.0
// The tasks of a network in fragments, one for every operator forward and one backward: the values that lowering works
// on, held from one change to the next, so that the functions that make lower()'s plan make a fragment of it again.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/strategy/change.hpp"

namespace tessera::simulation {

/// The operators that read each tensor and use each parameter, each once, in their order.
struct network_users {
    std::vector<std::vector<int>> consumers; ///< of every tensor
    std::vector<std::vector<int>> users;     ///< of every parameter

    explicit network_users(const graph_view& g);
};

struct fragment {
    std::vector<task> tasks;
    index_t moved_bytes = 0;
};

/// A network that is lowered fragment by fragment. The fragments' tasks in order of their numbers are lower()'s tasks.
/// Fragment op is operator op forward, fragment 2 * operators - 1 - op is it backward, with the updates of the
/// parameters that it is the first to use.
struct lowered_fragments {
    strategy how;
    lowering::lowering_input in; ///< of `how`
    network_users network;
    lowering::plan_writer out;       ///< all tiles, and the tasks of the fragment that is being made
    lowering::micro_batch_list all;  ///< one
    lowering::network_places places; ///< of the network
    lowering::synchronization_places sync;
    std::vector<fragment> fragments;
    std::vector<int> creator; ///< fragment that made each tile, or -1

    lowered_fragments(const graph_view& g, const strategy& s, int devices, const lower_options& o);
    lowered_fragments(lowered_fragments&&) = default; // what lowering reads looks into `how`
    lowered_fragments& operator=(lowered_fragments&&) = default;

    lowering::micro_batch_places& batch() { return all[0]; }
    int count() const { return 2 * in.g.op_count; }
    bool is_forward(int f) const { return f < in.g.op_count; }
    int operator_of(int f) const { return is_forward(f) ? f : count() - 1 - f; }
    int backward_of(int op) const { return count() - 1 - op; }
};

/// Options that make operators depend on others far away are not lowered in fragments: clipping by the global norm,
/// steps scaled by norms of parameters, and gradients handed in from outside.
bool lowers_in_fragments(const lower_options& o);
/// Nor are micro-batches, stages, recomputation, communication streams and messages of several gradients.
bool lowers_in_fragments(const strategy& s);
/// The strategy itself; throws tessera::error for what is not lowered in fragments.
const strategy& require_fragments(const strategy& s, const lower_options& o);

/// Makes a fragment's tasks from where everything is.
void make(lowered_fragments& x, int f);

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/delta/lowered_fragments.inl"
#endif

#include "tessera/base/end_header.inl"
