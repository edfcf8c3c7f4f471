// SPDX-License-Identifier: Apache-2.0
// The text of all kernels, as one string for NVRTC.
#pragma once

#include "tessera/backend/cuda/kernels/functions.hpp"
#include "tessera/backend/cuda/kernels/update.hpp"
#include "tessera/backend/cuda/op/table.hpp"

#include <string>

namespace tessera::cuda {

namespace detail {

/// What comes before all device code.
inline constexpr const char* kernel_macros = R"(
#define KERNEL(name) extern "C" __global__ void name(arguments a)
#define TYPED_KERNEL(name) KERNEL(name) { name##_of<float>(a); } KERNEL(name##_bf16) { name##_of<bf16>(a); }
)";

/// In this order, for a text may use what those before it define.
inline constexpr const char* shared_code[] = {kernels::common_code, kernels::copy_code,     kernels::channel_code,
                                              kernels::row_code,    kernels::function_code, kernels::update_code};

} // namespace detail

/// Without the code of one of the rows, for who wants to know what others make of that.
inline std::string kernel_source(const operator_row* without = nullptr) {
    std::string text = detail::kernel_macros;
    for (const char* code : detail::shared_code) {
        text += code;
    }
    for (int i = 0; i < operator_rows.size(); ++i) {
        const operator_row& r = *operator_rows[i];
        bool is_new = r.code != nullptr && (without == nullptr || r.code != without->code);
        for (int k = 0; k < i; ++k) {
            is_new = is_new && operator_rows[k]->code != r.code;
        }
        text += is_new ? r.code : "";
    }
    return text;
}

} // namespace tessera::cuda
