// SPDX-License-Identifier: Apache-2.0
// Operators that move elements and compute nothing.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/op/flatten.hpp"
#include "tessera/op/pad.hpp"
#include "tessera/op/reshape.hpp"
#include "tessera/op/slice.hpp"

namespace tessera::cuda::detail {

/// Its tile of the input is what it takes of it.
inline void copy_forward(const shard_call& s) { s.to.add(memory_copy{}, {s.value(s.input()), s.value_to(s.output())}); }

/// The gradient of each input is that of the output.
void copy_gradients(const shard_call& s);

} // namespace tessera::cuda::detail

namespace tessera::cuda {

/// A name for the same memory, whose gradient plans rename, too.
inline constexpr operator_row flatten_row{
    .of = &op::flatten_record,
    .forward = detail::copy_forward,
    .backward = detail::copy_gradients,
    .calls_forward = "-",
    .calls_backward = "-",
};

inline constexpr operator_row reshape_row{
    .of = &op::reshape_record,
    .forward = detail::copy_forward,
    .backward = detail::copy_gradients,
    .calls_forward = "-",
    .calls_backward = "-",
};

inline constexpr operator_row slice_row{
    .of = &op::slice_record,
    .forward = detail::copy_forward,
    .backward = detail::copy_gradients,
    .calls_forward = "cudaMemcpyAsync",
    .calls_backward = "cudaMemcpyAsync",
};

inline constexpr operator_row crop_row{
    .of = &op::crop_record,
    .forward = detail::copy_forward,
    .backward = detail::copy_gradients,
    .calls_forward = "cudaMemcpyAsync",
    .calls_backward = "cudaMemcpyAsync",
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/copy.inl"
#endif

#include "tessera/base/end_header.inl"
