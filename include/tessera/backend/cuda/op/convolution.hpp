// SPDX-License-Identifier: Apache-2.0
// Convolutions of images and of volumes. One whose window is one element is a product of matrices. A shard of planes,
// rows or columns has padding on one side alone, and cuDNN pads both sides alike: such a shard is copied into a padded
// array first (or its gradient out of one). So is a shard of the input channels of a grouped convolution, whose
// channels lie apart.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/calls/products.hpp"
#include "tessera/backend/cuda/calls/windows.hpp"
#include "tessera/backend/cuda/kernels/channels.hpp"
#include "tessera/op/conv3d.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel add_bias_bf16{"add_bias_bf16"};

// clang-format off
TESSERA_KERNELS(bias_code,

struct bias_numbers {
    index_t count = 0;
    index_t channels = 0;
    index_t plane = 0;
};
,

/// The bias of a channel, of floats, added to bf16. at: bias, y.
KERNEL(add_bias_bf16, bias_numbers) {
    bf16* y = pointer<bf16>(a, 1);
    for (long long i = first_index(); i < a.n.count; i += index_step()) {
        y[i] += pointer<const float>(a, 0)[i / a.n.plane % a.n.channels];
    }
}

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

/// True where a convolution's shard may have an input tile of this region in place of exactly what it touches: the
/// padding before the tile, on both sides, makes as many windows.
bool windows_fit(const op_attributes& all, const description& d, const interval* ranges, const box& tile);

/// The input of a shard's convolution as cuDNN is to see it.
struct convolution_input {
    bool staged = false; ///< in scratch, not the tile itself
    bool padded = false; ///< with its padding
    bool gaps = false;   ///< the tile has channels that the shard does not touch
    strided_box out_of_tile;
    index_t copies = 1; ///< of that box, one after the other: of volumes with gaps, one for each sample
    index_t tile_apart = 0;
    index_t staged_apart = 0;
    index_t bytes = 0; ///< of the staged array
};

/// Copies the input out of its tile into the staged array; `back`: its gradient into the tile.
void copy_staged(const shard_call& s, const convolution_input& x, memory_use from, memory_use to, bool back);

/// The box from the tile into the staged array: of samples, groups, channels and what the window walks over, or, where
/// that is one dimension more than a box has, of one sample.
void set_staging(convolution_input& x, const window_place& w, const index_t* extent, index_t samples, index_t groups,
                 index_t in, index_t in_apart, index_t channels);

convolution convolution_of(const shard_call& s, const window_place& w, convolution_input& x);

/// The value of the input, staged where it must be.
memory_use convolution_value(const shard_call& s, const convolution_input& x);

/// True where a convolution is a product of matrices for every sample: a window of one element, whose planes lie as
/// cublasLt reads fast. Of the gradient of the weights, which are summed over the samples afterwards, where these sums
/// are small.
bool is_product(const convolution& c, convolution::direction way);

/// The product that is such a convolution. A plane is a column of cublasLt's, so that x and y are their own transposes.
void add_product_of(const shard_call& s, const convolution& c, convolution::direction way, memory_use x, memory_use w,
                    memory_use y);

void add_convolution(const shard_call& s, convolution c, convolution::direction way, memory_use x, memory_use w,
                     memory_use y);

/// With its bias and the relu after it.
void add_activated(const shard_call& s, convolution c, memory_use x, memory_use w, memory_use y);

void convolution_bias(const shard_call& s);

/// The gradient of the weights from x and dy of a convolution.
void filter_gradient(const shard_call& s, const convolution& c, memory_use x, memory_use dy);

void convolution_bias_gradient(const shard_call& s);

/// The region of the tile of a convolution's input, or of its gradient; an empty one where there is none.
box input_tile(const shard_call& s, bool gradient);

void convolution_forward(const shard_call& s);

void convolution_backward(const shard_call& s);

/// cuDNN's call that has the relu has a bias, too.
bool convolution_takes_relu(const op_attributes& a, bool first_part);

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr const char* why_own_bias_sums = "cudnnConvolutionBackwardBias takes 20 times as long of large planes";

constexpr operator_row convolution_row_of(const op_record& of, const char* calls_backward) {
    return {
        .of = &of,
        .forward = detail::convolution_forward,
        .backward = detail::convolution_backward,
        .calls_forward = "cudnnConvolutionForward cublasLtMatmul cudnnAddTensor",
        .calls_backward = calls_backward,
        .why = why_own_bias_sums,
        .code = kernels::bias_code,
        .takes_relu = detail::convolution_takes_relu,
        .takes_tile = detail::windows_fit,
    };
}

inline constexpr operator_row convolution_rows[] = {
    convolution_row_of(op::conv2d_record,
                       "cudnnConvolutionBackwardData cudnnConvolutionBackwardFilter cublasLtMatmul cudaMemsetAsync "
                       "kernel:strided_copy_f32 kernel:column_sums kernel:statistics_gradient"),
    convolution_row_of(op::conv3d_record, "cudnnConvolutionBackwardData cudnnConvolutionBackwardFilter cublasLtMatmul "
                                          "kernel:column_sums kernel:statistics_gradient")};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/convolution.inl"
#endif

#include "tessera/base/end_header.inl"
