// SPDX-License-Identifier: Apache-2.0
// The operator table on CUDA: which call does each pass of each operator, on a whole shard in fp32, and why it is not a vendor's where
// it is not. Pools that are dilated or, in a shard of rows, padded on one side are a kernel of our own forward, too; in bf16 so are
// additions, products and biases, whose parameters stay fp32. A test holds the table against the calls that the rows of the operator table make.
#pragma once

#include "tessera/op/attributes.hpp"

#include <string>

namespace tessera::cuda {

/// Functions as function_of() names them, one after the other; "-" where a pass makes no call.
struct operator_row {
    op_kind kind;
    const char* forward;
    const char* backward;
    const char* why; ///< there are kernels of our own among them; empty where there are none
};

inline constexpr operator_row operator_rows[] = {
    {op_kind::conv2d, "cudnnConvolutionForward cudnnAddTensor",
     "cudnnConvolutionBackwardData cudnnConvolutionBackwardFilter cudnnConvolutionBackwardBias", ""},
    {op_kind::max_pool, "cudnnPoolingForward", "kernel:pool_maximum_backward",
     "backward needs the output in cuDNN, which the plan has freed, and does not say which of equal "
     "maxima it takes"},
    {op_kind::average_pool, "cudnnPoolingForward", "kernel:pool_average_backward",
     "cuDNN's backward asks for input and output, which the plan has freed"},
    {op_kind::global_average_pool, "cudnnPoolingForward", "kernel:spread",
     "cuDNN's backward asks for input and output, which the plan has freed"},
    {op_kind::linear, "cublasLtMatmul", "cublasLtMatmul", ""},
    {op_kind::relu, "cudnnActivationForward", "cudnnActivationBackward", ""},
    {op_kind::sigmoid, "cudnnActivationForward", "cudnnActivationBackward", ""},
    {op_kind::tanh, "cudnnActivationForward", "cudnnActivationBackward", ""},
    {op_kind::gelu, "kernel:gelu_forward", "kernel:gelu_backward",
     "cuDNN's classic interface has no gelu, and cublasLt's is the approximation by tanh"},
    {op_kind::add, "cudnnOpTensor", "-", ""}, // plans rename the gradient
    {op_kind::multiply, "cudnnOpTensor", "cudnnOpTensor", ""},
    {op_kind::concat, "kernel:strided_copy_f32", "kernel:strided_copy_f32",
     "a copy computes nothing; one kernel has all types and five dimensions, as redistribution needs them"},
    {op_kind::flatten, "-", "-", ""}, // a name for the same memory
    {op_kind::dropout, "kernel:dropout", "kernel:dropout",
     "the mask is a function of the global index, so that every split drops the same; cuDNN draws its own"},
    {op_kind::channel_dropout, "kernel:dropout", "kernel:dropout", "as dropout"},
    {op_kind::batch_norm, "cudnnBatchNormalizationForwardTraining kernel:running_moments",
     "cudnnBatchNormalizationBackward",
     "the running statistics are a task of their own, which every copy of them runs; a split's partial statistics have "
     "no vendor call"},
    {op_kind::layer_norm, "kernel:channel_statistics kernel:layer_normalize",
     "kernel:layer_statistics_gradient kernel:layer_scale_gradient kernel:statistics_gradient "
     "kernel:layer_input_gradient",
     "cuDNN's classic interface has no layer norm"},
    {op_kind::softmax, "cudnnSoftmaxForward kernel:row_maximum kernel:row_exponentials kernel:softmax_forward",
     "cudnnSoftmaxBackward kernel:softmax_total_gradient kernel:softmax_input_gradient",
     "cuDNN's softmax has no causal mask; a split of the rows' elements leaves partial sums"},
    {op_kind::matmul, "cublasLtMatmul", "cublasLtMatmul", ""},
    {op_kind::embedding, "kernel:look_up", "kernel:look_up_gradient", "no vendor call looks up rows"},
    {op_kind::position_embedding, "cudnnOpTensor", "cudaMemcpyAsync cudnnConvolutionBackwardBias", ""},
    {op_kind::slice, "cudaMemcpyAsync", "cudaMemcpyAsync", ""},
    {op_kind::transposed_conv2d, "cudnnConvolutionBackwardData cudnnAddTensor",
     "cudnnConvolutionForward cudnnConvolutionBackwardFilter cudnnConvolutionBackwardBias", ""},
    {op_kind::expert_linear, "cublasLtMatmul", "cublasLtMatmul kernel:strided_copy_f32",
     "a copy that brings each expert's rows of all samples together"},
    {op_kind::route, "kernel:route_forward", "kernel:route_gradient", "no vendor call gives out the slots of experts"},
    {op_kind::cross_entropy, "kernel:row_maximum kernel:row_exponentials kernel:row_loss kernel:count_not_finite",
     "kernel:softmax_gradient",
     "no classic vendor call computes a cross-entropy; its three nests are those of a split one"},
};

/// The table as text, a line for each operator.
inline std::string operator_table() {
    std::string text;
    for (const operator_row& r : operator_rows) {
        text += std::string(to_text(r.kind)) + ": forward " + r.forward + "; backward " + r.backward +
                (*r.why == 0 ? "" : std::string("; ") + r.why) + "\n";
    }
    return text;
}

} // namespace tessera::cuda
