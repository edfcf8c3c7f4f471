// SPDX-License-Identifier: Apache-2.0
// Bodies of prepared_fused.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/prepared_fused.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE prepared_activated_convolution::prepared_activated_convolution(const activated_convolution& a,
                                                                              pointers at, const device_tools& t)
    : c_(a.of), at_(std::move(at)), t_(t), x_(describe_tensor(c_.x, c_.type())), w_(describe_filter(c_.w, c_.type())),
      y_(describe_tensor(c_.y, c_.type())), how_(describe_convolution(c_)), relu_(describe_activation(activation{})) {
    tensor_extents bias{{1, c_.y[1], 1, 1, 1}, c_.y.size()};
    bias_ = describe_tensor(bias, c_.type());
    at_.resize(5, nullptr);
}

TESSERA_INLINE void prepared_activated_convolution::issue(const run_state&) {
    const auto algorithm = static_cast<cudnnConvolutionFwdAlgo_t>(c_.algorithm);
    const auto workspace = to_size(c_.workspace);
    cudnnTensorDescriptor_t y = y_.get();
    if (fuses_) {
        // y stands in for the summand that cuDNN adds with a factor of 0.
        const cudnnStatus_t status = cudnnConvolutionBiasActivationForward(
            t_.cudnn, &times_one, x_.get(), at_[0], w_.get(), at_[1], how_.get(), algorithm, at_[4], workspace,
            &times_zero, y, at_[2], bias_.get(), at_[3], relu_.get(), y, at_[2]);
        fuses_ = CUDNN_STATUS_CATEGORY(status) != CUDNN_STATUS_CATEGORY(CUDNN_STATUS_NOT_SUPPORTED);
        if (fuses_) {
            check(status, "cudnnConvolutionBiasActivationForward");
            return;
        }
    }
    // Not every algorithm has the fused call; it says so at the first one.
    check(cudnnConvolutionForward(t_.cudnn, &times_one, x_.get(), at_[0], w_.get(), at_[1], how_.get(), algorithm,
                                  at_[4], workspace, &times_zero, y, at_[2]),
          "cudnnConvolutionForward");
    check(cudnnAddTensor(t_.cudnn, &times_one, bias_.get(), at_[3], &times_one, y, at_[2]), "cudnnAddTensor");
    check(cudnnActivationForward(t_.cudnn, relu_.get(), &times_one, y, at_[2], &times_zero, y, at_[2]),
          "cudnnActivationForward");
}

TESSERA_INLINE prepared_normalization::prepared_normalization(const normalization& n, pointers at,
                                                              const device_tools& t)
    : n_(n), at_(std::move(at)), t_(t), x_(describe_tensor(n.x, n.type)) {
    const int channels[4] = {1, n.x[1], 1, 1};
    channels_ = describe_tensor(channels);
}

TESSERA_INLINE void prepared_normalization::issue(const run_state&) {
    constexpr auto mode = CUDNN_BATCHNORM_SPATIAL;
    cudnnTensorDescriptor_t x = x_.get();
    cudnnTensorDescriptor_t c = channels_.get();
    switch (n_.way) {
    case normalization::direction::training: // the running statistics are a task of their own
        check(cudnnBatchNormalizationForwardTraining(t_.cudnn, mode, &times_one, &times_zero, x, at_[0], x, at_[3], c,
                                                     at_[1], at_[2], 0, nullptr, nullptr, n_.epsilon, at_[4],
                                                     second(at_[4])),
              "cudnnBatchNormalizationForwardTraining");
        break;
    case normalization::direction::inference:
        check(cudnnBatchNormalizationForwardInference(t_.cudnn, mode, &times_one, &times_zero, x, at_[0], x, at_[4], c,
                                                      at_[1], at_[2], at_[3], second(at_[3]), n_.epsilon),
              "cudnnBatchNormalizationForwardInference");
        break;
    case normalization::direction::backward:
        check(cudnnBatchNormalizationBackward(t_.cudnn, mode, &times_one, &times_zero, &times_one, &times_zero, x,
                                              at_[0], x, at_[1], x, at_[4], c, at_[2], at_[5], at_[6], n_.epsilon,
                                              at_[3], second(at_[3])),
              "cudnnBatchNormalizationBackward");
        break;
    }
}

TESSERA_INLINE prepared_softmax::prepared_softmax(const row_softmax& s, pointers at, const device_tools& t)
    : backward_(s.backward), at_(std::move(at)), t_(t) {
    const int rows[4] = {s.rows, s.columns, 1, 1};
    rows_ = describe_tensor(rows, s.type);
}

TESSERA_INLINE void prepared_softmax::issue(const run_state&) {
    cudnnTensorDescriptor_t d = rows_.get();
    if (backward_) {
        check(cudnnSoftmaxBackward(t_.cudnn, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE, &times_one, d, at_[0],
                                   d, at_[1], &times_zero, d, at_[2]),
              "cudnnSoftmaxBackward");
    } else {
        check(cudnnSoftmaxForward(t_.cudnn, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_INSTANCE, &times_one, d, at_[0],
                                  &times_zero, d, at_[1]),
              "cudnnSoftmaxForward");
    }
}

TESSERA_INLINE prepared_operation::prepared_operation(const tensor_operation& o, pointers at, const device_tools& t)
    : at_(std::move(at)), t_(t), how_(describe_operation(o)) {
    const int rows[4] = {static_cast<int>(o.rows), 1, 1, static_cast<int>(o.count)};
    const int second[4] = {o.repeats ? 1 : rows[0], 1, 1, rows[3]};
    rows_ = describe_tensor(rows);
    second_ = describe_tensor(second);
}

TESSERA_INLINE void prepared_operation::issue(const run_state&) {
    cudnnTensorDescriptor_t d = rows_.get();
    check(cudnnOpTensor(t_.cudnn, how_.get(), &times_one, d, at_[0], &times_one, second_.get(), at_[1], &times_zero, d,
                        at_[2]),
          "cudnnOpTensor");
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
