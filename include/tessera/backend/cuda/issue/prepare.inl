// SPDX-License-Identifier: Apache-2.0
// Bodies of prepare.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/prepare.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE std::unique_ptr<prepared_call> preparation::operator()(const convolution& c) {
    return std::make_unique<prepared_convolution>(c, at, tools);
}

TESSERA_INLINE std::unique_ptr<prepared_call> preparation::operator()(const bias_add& b) {
    return std::make_unique<prepared_bias>(b.y, false, at, tools);
}

TESSERA_INLINE std::unique_ptr<prepared_call> preparation::operator()(const bias_gradient& b) {
    return std::make_unique<prepared_bias>(b.y, true, at, tools);
}

TESSERA_INLINE std::unique_ptr<prepared_call> preparation::operator()(const matrix_product& m) {
    return std::make_unique<prepared_product>(m, at, tools);
}

TESSERA_INLINE std::unique_ptr<prepared_call> preparation::operator()(const pooling& p) {
    return std::make_unique<prepared_pooling>(p, at, tools);
}

TESSERA_INLINE std::unique_ptr<prepared_call> preparation::operator()(const activation& a) {
    return std::make_unique<prepared_activation>(a, at, tools);
}

TESSERA_INLINE std::unique_ptr<prepared_call> preparation::operator()(const activated_convolution& c) {
    return std::make_unique<prepared_activated_convolution>(c, at, tools);
}

TESSERA_INLINE std::unique_ptr<prepared_call> preparation::operator()(const normalization& n) {
    return std::make_unique<prepared_normalization>(n, at, tools);
}

TESSERA_INLINE std::unique_ptr<prepared_call> preparation::operator()(const row_softmax& s) {
    return std::make_unique<prepared_softmax>(s, at, tools);
}

TESSERA_INLINE std::unique_ptr<prepared_call> preparation::operator()(const tensor_operation& o) {
    return std::make_unique<prepared_operation>(o, at, tools);
}

TESSERA_INLINE std::unique_ptr<prepared_call> preparation::operator()(const kernel_launch& k) {
    return std::make_unique<prepared_kernel>(k, at, tools);
}

TESSERA_INLINE std::unique_ptr<prepared_call> preparation::operator()(const memory_clear&) {
    return std::make_unique<prepared_memory>(at, memory.back().bytes, tools);
}

TESSERA_INLINE std::unique_ptr<prepared_call> preparation::operator()(const memory_copy& c) {
    return std::make_unique<prepared_memory>(at, memory.back().bytes, tools, c.goes);
}

TESSERA_INLINE std::unique_ptr<prepared_call> preparation::operator()(const upload& u) {
    return std::make_unique<prepared_upload>(u, at[0], memory[0].bytes, tools);
}

} // namespace tessera::cuda::detail

namespace tessera::cuda {

TESSERA_INLINE std::unique_ptr<prepared_call> prepare_call_at(const call& c, detail::pointers at,
                                                              const device_tools& tools) {
    detail::preparation p{c.memory, std::move(at), tools};
    return std::visit(p, c.body);
}

TESSERA_INLINE std::unique_ptr<prepared_call> prepare_call(const call& c, const addresses& where,
                                                           const device_tools& tools) {
    detail::pointers at;
    for (const memory_use& m : c.memory) {
        at.push_back(where[m.tile] + m.offset);
    }
    return prepare_call_at(c, std::move(at), tools);
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
