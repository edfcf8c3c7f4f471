// SPDX-License-Identifier: Apache-2.0
// Descriptors of cuDNN and cublasLt for calls. They are made on the processor alone, so that tests hold them against
// the calls without a GPU.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/call.hpp"
#include "tessera/backend/cuda/issue/handles.hpp"
#include "tessera/plan/memory.hpp"

namespace tessera::cuda {

constexpr cudnnDataType_t cudnn_type(element e) { return e == element::bf16 ? CUDNN_DATA_BFLOAT16 : CUDNN_DATA_FLOAT; }
constexpr cudaDataType_t cublas_type(element e) { return e == element::bf16 ? CUDA_R_16BF : CUDA_R_32F; }

/// A dense NCHW or NCDHW tensor of f32 or bf16.
tensor_handle describe_tensor(const tensor_extents& e, element type = element::f32);
tensor_handle describe_tensor(const int (&e)[4], element type = element::f32);

filter_handle describe_filter(const tensor_extents& e, element type = element::f32);

constexpr cudnnMathType_t cudnn_math(math_type m) { return static_cast<cudnnMathType_t>(m); }
static_assert(cudnn_math(math_type::standard) == CUDNN_DEFAULT_MATH);
static_assert(cudnn_math(math_type::tensor_cores) == CUDNN_TENSOR_OP_MATH);
static_assert(cudnn_math(math_type::conversion) == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION);
static_assert(cudnn_math(math_type::plain) == CUDNN_FMA_MATH);

/// Cross-correlation, as every framework has it, summed in fp32.
convolution_handle describe_convolution(const convolution& c);

pooling_handle describe_pooling(const pooling& p);

operation_handle describe_operation(const tensor_operation& t);

activation_handle describe_activation(const activation& a);

/// Matrix a (0), b (1) or d (2) of a product, column after column.
matrix_handle describe_matrix(const matrix_product& m, int i);

/// What cublasLtMatmul takes besides pointers.
struct product_descriptors {
    product_handle product;
    matrix_handle a;
    matrix_handle b;
    matrix_handle d;
};

product_descriptors describe_product(const matrix_product& m);

/// What cublasLt may choose from: workspace within the plan's, sums in an order that does not depend on which block
/// comes first, and pointers as the plan aligns them.
preference_handle describe_preference(const matrix_product& m);

/// What cublasLt proposes for a product whose descriptors are complete, the best by its own estimate first; none where
/// it has no such epilogue. All give the same bits each time (describe_preference).
std::vector<cublasLtMatmulAlgo_t> proposals_for(cublasLtHandle_t handle, const matrix_product& m,
                                                const product_descriptors& d, int most);

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/issue/descriptors.inl"
#endif

#include "tessera/base/end_header.inl"
