// SPDX-License-Identifier: Apache-2.0
// What operators count as work of a model, where that is not what their kernels do: all pairs of positions, whatever a
// mask hides, and of experts those that a token is sent to.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/attention.hpp"
#include "tessera/op/routing.hpp"

namespace tessera::op {

/// Forward FLOPs of a product of activations; 0 for other operators. `forward` is what its description counts, `first`,
/// `second` and `out` the extents of its first two inputs and its output: of attention two products of all pairs of
/// queries and keys.
inline double flops_of_pairs(const op_attributes& a, double forward, const shape& first, const shape& second,
                             const shape& out) {
    if (a.kind == op_kind::matmul) {
        return forward;
    }
    if (a.kind != op_kind::attention && a.kind != op_kind::padded_attention) {
        return 0;
    }
    const double pairs = static_cast<double>(first[0]) * static_cast<double>(first[1] * second[1]);
    return 2 * pairs * static_cast<double>(first[2] + out[2]);
}

/// Of the parameters of an operator of `experts` experts the share that a token meets; `slots` says who is sent where.
/// 1 for other operators.
inline double share_of_experts(const op_attributes& a, const op_attributes& slots, index_t experts) {
    if (a.kind != op_kind::routed_linear || slots.kind != op_kind::token_slots || experts < 1) {
        return 1;
    }
    const index_t top = slots.as<token_slots_attributes>().top;
    return static_cast<double>(top < experts ? top : experts) / static_cast<double>(experts);
}

} // namespace tessera::op

#include "tessera/base/end_header.inl"
