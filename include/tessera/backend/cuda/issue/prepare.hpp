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

    std::unique_ptr<prepared_call> operator()(const convolution& c) {
        return std::make_unique<prepared_convolution>(c, at, tools);
    }
    std::unique_ptr<prepared_call> operator()(const bias_add& b) {
        return std::make_unique<prepared_bias>(b.y, false, at, tools);
    }
    std::unique_ptr<prepared_call> operator()(const bias_gradient& b) {
        return std::make_unique<prepared_bias>(b.y, true, at, tools);
    }
    std::unique_ptr<prepared_call> operator()(const matrix_product& m) {
        return std::make_unique<prepared_product>(m, at, tools);
    }
    std::unique_ptr<prepared_call> operator()(const pooling& p) {
        return std::make_unique<prepared_pooling>(p, at, tools);
    }
    std::unique_ptr<prepared_call> operator()(const activation& a) {
        return std::make_unique<prepared_activation>(a, at, tools);
    }
    std::unique_ptr<prepared_call> operator()(const activated_convolution& c) {
        return std::make_unique<prepared_activated_convolution>(c, at, tools);
    }
    std::unique_ptr<prepared_call> operator()(const normalization& n) {
        return std::make_unique<prepared_normalization>(n, at, tools);
    }
    std::unique_ptr<prepared_call> operator()(const row_softmax& s) {
        return std::make_unique<prepared_softmax>(s, at, tools);
    }
    std::unique_ptr<prepared_call> operator()(const tensor_operation& o) {
        return std::make_unique<prepared_operation>(o, at, tools);
    }
    std::unique_ptr<prepared_call> operator()(const kernel_launch& k) {
        return std::make_unique<prepared_kernel>(k, at, tools);
    }
    std::unique_ptr<prepared_call> operator()(const memory_clear&) {
        return std::make_unique<prepared_memory>(at, memory.back().bytes, tools);
    }
    std::unique_ptr<prepared_call> operator()(const memory_copy&) {
        return std::make_unique<prepared_memory>(at, memory.back().bytes, tools);
    }
    std::unique_ptr<prepared_call> operator()(const upload& u) {
        return std::make_unique<prepared_upload>(u, at[0], memory[0].bytes, tools);
    }
    std::unique_ptr<prepared_call> operator()(const point_to_point&) { return nullptr; } // issued in groups
    std::unique_ptr<prepared_call> operator()(const collective&) { return nullptr; }
};

} // namespace detail

/// Makes a call ready on the GPU that is current, with the addresses of its memory; null for those that are issued in groups.
inline std::unique_ptr<prepared_call> prepare_call_at(const call& c, detail::pointers at, const device_tools& tools) {
    detail::preparation p{c.memory, static_cast<detail::pointers&&>(at), tools};
    return std::visit(p, c.body);
}

/// The same in the memory of a plan.
inline std::unique_ptr<prepared_call> prepare_call(const call& c, const addresses& where, const device_tools& tools) {
    detail::pointers at;
    for (const memory_use& m : c.memory) {
        at.push_back(where[m.tile] + m.offset);
    }
    return prepare_call_at(c, static_cast<detail::pointers&&>(at), tools);
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
