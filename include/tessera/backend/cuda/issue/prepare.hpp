// SPDX-License-Identifier: Apache-2.0
// From a call to what issues it, whichever library's it is.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/prepared_fused.hpp"

namespace tessera::cuda {

namespace detail {

struct preparation {
    const std::vector<memory_use>& memory;
    pointers at;
    const device_tools& tools;

    std::unique_ptr<prepared_call> operator()(const convolution& c);
    std::unique_ptr<prepared_call> operator()(const bias_add& b);
    std::unique_ptr<prepared_call> operator()(const bias_gradient& b);
    std::unique_ptr<prepared_call> operator()(const matrix_product& m);
    std::unique_ptr<prepared_call> operator()(const pooling& p);
    std::unique_ptr<prepared_call> operator()(const activation& a);
    std::unique_ptr<prepared_call> operator()(const activated_convolution& c);
    std::unique_ptr<prepared_call> operator()(const normalization& n);
    std::unique_ptr<prepared_call> operator()(const row_softmax& s);
    std::unique_ptr<prepared_call> operator()(const tensor_operation& o);
    std::unique_ptr<prepared_call> operator()(const kernel_launch& k);
    std::unique_ptr<prepared_call> operator()(const memory_clear&);
    std::unique_ptr<prepared_call> operator()(const memory_copy&);
    std::unique_ptr<prepared_call> operator()(const upload& u);
    std::unique_ptr<prepared_call> operator()(const point_to_point&) { return nullptr; } // issued in groups
    std::unique_ptr<prepared_call> operator()(const collective&) { return nullptr; }
};

} // namespace detail

/// Makes a call ready on the GPU that is current, with the addresses of its memory; null for those that are issued in
/// groups.
std::unique_ptr<prepared_call> prepare_call_at(const call& c, detail::pointers at, const device_tools& tools);

/// The same in the memory of a plan.
std::unique_ptr<prepared_call> prepare_call(const call& c, const addresses& where, const device_tools& tools);

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/issue/prepare.inl"
#endif

#include "tessera/base/end_header.inl"
