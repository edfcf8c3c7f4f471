// SPDX-License-Identifier: Apache-2.0
// Concatenation.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/op/concat.hpp"

namespace tessera::cuda::detail {

/// A region of input `o` in the output's coordinates.
box in_output(const shard_call& s, int o, box b);

void concat_forward(const shard_call& s);

void concat_backward(const shard_call& s);

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row concat_row{
    .of = &op::concat_record,
    .forward = detail::concat_forward,
    .backward = detail::concat_backward,
    .calls_forward = "kernel:strided_copy_f32",
    .calls_backward = "kernel:strided_copy_f32",
    .why = "a copy computes nothing; one kernel has all types and five dimensions, as redistribution needs them",
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/concat.inl"
#endif

#include "tessera/base/end_header.inl"
