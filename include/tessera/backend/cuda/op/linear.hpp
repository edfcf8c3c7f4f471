// SPDX-License-Identifier: Apache-2.0
// Linear layers.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/calls/numbers.hpp"
#include "tessera/backend/cuda/calls/products.hpp"
#include "tessera/backend/cuda/kernels/channels.hpp"
#include "tessera/op/linear.hpp"

namespace tessera::cuda::detail {

/// y[n,o] = sum of x[n,i] w[o,i] + b[o]; a position of a sequence is a row like a sample.
void linear_forward(const shard_call& s);

void linear_backward(const shard_call& s);

inline bool linear_takes_relu(const op_attributes&, bool) { return true; }

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row linear_row{
    .of = &op::linear_record,
    .forward = detail::linear_forward,
    .backward = detail::linear_backward,
    .calls_forward = "cublasLtMatmul",
    .calls_backward = "cublasLtMatmul",
    .takes_relu = detail::linear_takes_relu,
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/linear.inl"
#endif

#include "tessera/base/end_header.inl"
