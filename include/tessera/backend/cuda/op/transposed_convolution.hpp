// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions: cuDNN's convolution from their output to their input with its passes exchanged, backward
// data being their forward. Where a shard has unlike padding on its two sides (a window longer than the stride), its
// output is padded in scratch.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/convolution.hpp"
#include "tessera/op/transposed_conv2d.hpp"

namespace tessera::cuda::detail {

/// That convolution: its x is the operator's output, its y the operator's input. `x.out_of_tile` leads from the tile to
/// the padded array.
convolution transposed_of(const shard_call& s, convolution_input& x);

void transposed_forward(const shard_call& s);

void transposed_backward(const shard_call& s);

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row transposed_convolution_row{
    .of = &op::transposed_conv2d_record,
    .forward = detail::transposed_forward,
    .backward = detail::transposed_backward,
    .calls_forward = "cudnnConvolutionBackwardData cublasLtMatmul cudnnAddTensor",
    .calls_backward = "cudnnConvolutionForward cudnnConvolutionBackwardFilter cublasLtMatmul kernel:column_sums "
                      "kernel:statistics_gradient",
    .why = why_own_bias_sums,
    .code = kernels::bias_code,
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/transposed_convolution.inl"
#endif

#include "tessera/base/end_header.inl"
