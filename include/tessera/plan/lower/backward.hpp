// SPDX-License-Identifier: Apache-2.0
// Lowering of the backward pass: which gradients flow, the tasks that make them, and what each contributes to.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/forward.hpp"

namespace tessera::lowering {

/// Which gradients a backward action makes.
enum class backward_part : std::uint8_t { all, input, weight };

/// True where gradients of weights can wait until the inputs' are done: no gradient of an intermediate needs the same
/// sums, and no task makes all of them.
bool splits_backward(const lowering_input& in, int op);

bool has_gradient(const lowering_input& in, const micro_batch_places& m, int op);

/// Adds up what each device has of the gradient of a tensor, region by region, where others have parts of the region
/// too: what is sent to them is then one part (strategy::sums_first). Parts that are copied are copied together or stay.
void sum_first(const lowering_input& in, micro_batch_places& m, plan_writer& out, int tensor, int op, pass what);

/// The tile with the gradient of a shard's output.
int output_gradient(const lowering_input& in, micro_batch_places& m, plan_writer& out, int op, const shard& s,
                    pass what);

/// Registers a shard's contribution to a gradient: a summand of its own, except that replicas (and the shards that pass
/// different parts of a partial tensor, whose gradients are equal) are copies of one.
void contribute(const lowering_input& in, network_places& net, const micro_batch_places& m, plan_writer& out,
                located& to, int op, int which, const shard& s, const box& region, int t);

/// The gradient of an addition or a flattening is its output's.
void pass_gradient(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out, int op);

/// A contribution that waits to be added to the first micro-batch's.
struct waiting_sum {
    int to = -1;
    int from = -1;
};

/// A tile for a shard's gradient of a parameter. The first micro-batch's is where the others' are added.
int emit_parameter(const lowering_input& in, network_places& net, const micro_batch_places& m, plan_writer& out, int op,
                   int which, int number, const shard& s, std::vector<waiting_sum>& sums);

/// A tile for a shard's gradient of an operand.
int emit(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out, int op, int which,
         int number, const shard& s, std::vector<waiting_sum>& sums);

/// One task for every shard that makes some gradients, which come from nest `k`.
void backward_nest(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out, int op,
                   int k, std::uint32_t emits, pass what);

/// What of the gradients comes from nest `k`.
void backward_nests(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out, int op,
                    int k, backward_part part);

/// An operator's tasks backward.
void backward(const lowering_input& in, network_places& net, micro_batch_places& m, plan_writer& out, int op,
              backward_part part = backward_part::all);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/backward.inl"
#endif

#include "tessera/base/end_header.inl"
