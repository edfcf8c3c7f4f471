// SPDX-License-Identifier: Apache-2.0
// Bodies of descriptors.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/descriptors.hpp"

namespace tessera::cuda {

TESSERA_INLINE tensor_handle describe_tensor(const tensor_extents& e, element type) {
    cudnnTensorDescriptor_t d = nullptr;
    check(cudnnCreateTensorDescriptor(&d), "cudnnCreateTensorDescriptor");
    tensor_handle owner(d);
    int strides[max_rank] = {};
    index_t stride = 1;
    for (int k = e.size() - 1; k >= 0; --k) {
        strides[k] = static_cast<int>(stride); // call_list.hpp refuses arrays of more than an int counts
        stride *= e[k] > 0 ? e[k] : 1;         // cuDNN says what is wrong with an extent
    }
    check(cudnnSetTensorNdDescriptor(d, cudnn_type(type), e.size(), e.begin(), strides), "cudnnSetTensorNdDescriptor");
    return owner;
}

TESSERA_INLINE tensor_handle describe_tensor(const int (&e)[4], element type) {
    return describe_tensor(tensor_extents{{e[0], e[1], e[2], e[3]}, 4}, type);
}

TESSERA_INLINE filter_handle describe_filter(const tensor_extents& e, element type) {
    cudnnFilterDescriptor_t d = nullptr;
    check(cudnnCreateFilterDescriptor(&d), "cudnnCreateFilterDescriptor");
    filter_handle owner(d);
    check(cudnnSetFilterNdDescriptor(d, cudnn_type(type), CUDNN_TENSOR_NCHW, e.size(), e.begin()),
          "cudnnSetFilterNdDescriptor");
    return owner;
}

TESSERA_INLINE convolution_handle describe_convolution(const convolution& c) {
    cudnnConvolutionDescriptor_t d = nullptr;
    check(cudnnCreateConvolutionDescriptor(&d), "cudnnCreateConvolutionDescriptor");
    convolution_handle owner(d);
    check(cudnnSetConvolutionNdDescriptor(d, c.padding.size(), c.padding.begin(), c.stride.begin(), c.dilation.begin(),
                                          CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
          "cudnnSetConvolutionNdDescriptor");
    check(cudnnSetConvolutionGroupCount(d, c.groups), "cudnnSetConvolutionGroupCount");
    check(cudnnSetConvolutionMathType(d, cudnn_math(c.multipliers)), "cudnnSetConvolutionMathType");
    return owner;
}

TESSERA_INLINE pooling_handle describe_pooling(const pooling& p) {
    cudnnPoolingDescriptor_t d = nullptr;
    check(cudnnCreatePoolingDescriptor(&d), "cudnnCreatePoolingDescriptor");
    pooling_handle owner(d);
    const cudnnPoolingMode_t mode = p.how == pooling::mode::maximum   ? CUDNN_POOLING_MAX_DETERMINISTIC
                                    : p.how == pooling::mode::average ? CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING
                                                                      : CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING;
    check(cudnnSetPoolingNdDescriptor(d, mode, CUDNN_PROPAGATE_NAN, p.window.size(), p.window.begin(),
                                      p.padding.begin(), p.stride.begin()),
          "cudnnSetPoolingNdDescriptor");
    return owner;
}

TESSERA_INLINE operation_handle describe_operation(const tensor_operation& t) {
    cudnnOpTensorDescriptor_t d = nullptr;
    check(cudnnCreateOpTensorDescriptor(&d), "cudnnCreateOpTensorDescriptor");
    operation_handle owner(d);
    check(cudnnSetOpTensorDescriptor(d, t.multiplies ? CUDNN_OP_TENSOR_MUL : CUDNN_OP_TENSOR_ADD, CUDNN_DATA_FLOAT,
                                     CUDNN_PROPAGATE_NAN),
          "cudnnSetOpTensorDescriptor");
    return owner;
}

TESSERA_INLINE activation_handle describe_activation(const activation& a) {
    cudnnActivationDescriptor_t d = nullptr;
    check(cudnnCreateActivationDescriptor(&d), "cudnnCreateActivationDescriptor");
    activation_handle owner(d);
    const cudnnActivationMode_t mode = a.which == activation::function::relu      ? CUDNN_ACTIVATION_RELU
                                       : a.which == activation::function::sigmoid ? CUDNN_ACTIVATION_SIGMOID
                                                                                  : CUDNN_ACTIVATION_TANH;
    check(cudnnSetActivationDescriptor(d, mode, CUDNN_PROPAGATE_NAN, 0), "cudnnSetActivationDescriptor");
    return owner;
}

TESSERA_INLINE matrix_handle describe_matrix(const matrix_product& m, int i) {
    cublasLtMatrixLayout_t d = nullptr;
    check(cublasLtMatrixLayoutCreate(&d, cublas_type(m.type_of(i)), static_cast<std::uint64_t>(m.rows_of(i)),
                                     static_cast<std::uint64_t>(m.columns_of(i)), m.lead_of(i)),
          "cublasLtMatrixLayoutCreate");
    matrix_handle owner(d);
    if (m.batch > 1) {
        const auto count = static_cast<std::int32_t>(m.batch);
        const std::int64_t apart = m.apart[i];
        check(cublasLtMatrixLayoutSetAttribute(d, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
              "cublasLtMatrixLayoutSetAttribute");
        check(cublasLtMatrixLayoutSetAttribute(d, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &apart, sizeof apart),
              "cublasLtMatrixLayoutSetAttribute");
    }
    return owner;
}

TESSERA_INLINE product_descriptors describe_product(const matrix_product& m) {
    product_descriptors r;
    cublasLtMatmulDesc_t p = nullptr;
    // CUBLAS_COMPUTE_32F uses TF32 only where CUBLAS_COMPUTE_32F_FAST_TF32 asks for it.
    const cublasComputeType_t sums = m.math == precision::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    check(cublasLtMatmulDescCreate(&p, sums, CUDA_R_32F), "cublasLtMatmulDescCreate");
    r.product = product_handle(p);
    const cublasOperation_t a = m.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t b = m.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasLtEpilogue_t after = m.sums                 ? CUBLASLT_EPILOGUE_BGRADB
                                     : m.bias && m.positive ? CUBLASLT_EPILOGUE_RELU_BIAS
                                     : m.positive           ? CUBLASLT_EPILOGUE_RELU
                                     : m.bias               ? CUBLASLT_EPILOGUE_BIAS
                                                            : CUBLASLT_EPILOGUE_DEFAULT;
    check(cublasLtMatmulDescSetAttribute(p, CUBLASLT_MATMUL_DESC_TRANSA, &a, sizeof a),
          "cublasLtMatmulDescSetAttribute");
    check(cublasLtMatmulDescSetAttribute(p, CUBLASLT_MATMUL_DESC_TRANSB, &b, sizeof b),
          "cublasLtMatmulDescSetAttribute");
    check(cublasLtMatmulDescSetAttribute(p, CUBLASLT_MATMUL_DESC_EPILOGUE, &after, sizeof after),
          "cublasLtMatmulDescSetAttribute");
    r.a = describe_matrix(m, 0);
    r.b = describe_matrix(m, 1);
    r.d = describe_matrix(m, 2);
    return r;
}

TESSERA_INLINE preference_handle describe_preference(const matrix_product& m) {
    cublasLtMatmulPreference_t p = nullptr;
    check(cublasLtMatmulPreferenceCreate(&p), "cublasLtMatmulPreferenceCreate");
    preference_handle owner(p);
    const auto workspace = to_size(m.workspace);
    const std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE; // besides none: through the workspace
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t which, const void* value, std::size_t size) {
        check(cublasLtMatmulPreferenceSetAttribute(p, which, value, size), "cublasLtMatmulPreferenceSetAttribute");
    };
    const auto tile_alignment = static_cast<std::uint32_t>(m.alignment);
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace, sizeof workspace);
    set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions, sizeof reductions);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &tile_alignment, sizeof tile_alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &tile_alignment, sizeof tile_alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &tile_alignment, sizeof tile_alignment);
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &tile_alignment, sizeof tile_alignment);
    return owner;
}

TESSERA_INLINE std::vector<cublasLtMatmulAlgo_t> proposals_for(cublasLtHandle_t handle, const matrix_product& m,
                                                               const product_descriptors& d, int most) {
    const preference_handle preference = describe_preference(m);
    std::vector<cublasLtMatmulHeuristicResult_t> found(to_size(most));
    int count = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle, d.product.get(), d.a.get(), d.b.get(), d.d.get(), d.d.get(),
                                       preference.get(), most, found.data(), &count);
    std::vector<cublasLtMatmulAlgo_t> all;
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) {
        return all;
    }
    check(status, "cublasLtMatmulAlgoGetHeuristic");
    for (int i = 0; i < count; ++i) {
        if (found[to_size(i)].state == CUBLAS_STATUS_SUCCESS) {
            all.push_back(found[to_size(i)].algo);
        }
    }
    return all;
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
