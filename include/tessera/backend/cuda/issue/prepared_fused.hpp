// SPDX-License-Identifier: Apache-2.0
// Calls of cuDNN that do a whole operator, or two: batch norm, softmax, a convolution with its bias and relu.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/prepared_call.hpp"

namespace tessera::cuda::detail {

class prepared_activated_convolution final : public prepared_call {
public:
    prepared_activated_convolution(const activated_convolution& a, pointers at, const device_tools& t);
    void issue(const run_state&) override;

private:
    bool fuses_ = true;
    convolution c_;
    pointers at_; ///< x, w, y, bias, workspace
    device_tools t_;
    tensor_handle x_;
    filter_handle w_;
    tensor_handle y_;
    convolution_handle how_;
    activation_handle relu_;
    tensor_handle bias_;
};

class prepared_normalization final : public prepared_call {
public:
    prepared_normalization(const normalization& n, pointers at, const device_tools& t);
    void issue(const run_state&) override;

private:
    /// Of two rows of a number for each channel.
    void* second(void* rows) const { return static_cast<float*>(rows) + n_.x[1]; }

    normalization n_;
    pointers at_;
    device_tools t_;
    tensor_handle x_;
    tensor_handle channels_;
};

class prepared_softmax final : public prepared_call {
public:
    prepared_softmax(const row_softmax& s, pointers at, const device_tools& t);
    void issue(const run_state&) override;

private:
    bool backward_;
    pointers at_;
    device_tools t_;
    tensor_handle rows_;
};

class prepared_operation final : public prepared_call {
public:
    prepared_operation(const tensor_operation& o, pointers at, const device_tools& t);
    void issue(const run_state&) override;

private:
    pointers at_;
    device_tools t_;
    operation_handle how_;
    tensor_handle rows_;
    tensor_handle second_;
};

} // namespace tessera::cuda::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/issue/prepared_fused.inl"
#endif

#include "tessera/base/end_header.inl"
