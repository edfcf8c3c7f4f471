// SPDX-License-Identifier: Apache-2.0
// The text of the kernels, as one string for NVRTC: those that all plans or several operators have, and those of certain operators.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/row_norm.hpp"
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
inline constexpr const char* shared_code[] = {kernels::common_code,  kernels::copy_code,   kernels::channel_code,
                                              kernels::row_code,     kernels::update_code, kernels::root_code,
                                              kernels::formula_code, kernels::step_code,   kernels::row_norm_code};

} // namespace detail

/// Some kernels, with what comes before all device code.
inline std::string source_of(const std::string& kernels) {
    return std::string(detail::kernel_macros) + kernels::common_code + kernels;
}

/// The kernels of these rows. Each of them needs the shared code, and none of another's.
inline std::string kernel_source(row_table rows = rows_of<all_operators>()) {
    std::string text = detail::kernel_macros;
    for (const char* code : detail::shared_code) {
        text += code;
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        bool is_new = true; // several rows of a file have one text
        for (std::size_t k = 0; k < i; ++k) {
            is_new = is_new && !(rows[k]->code == rows[i]->code && rows[k]->text == rows[i]->text);
        }
        if (is_new) {
            text += rows[i]->code != nullptr ? rows[i]->code : "";
            text += rows[i]->text != nullptr ? rows[i]->text() : "";
        }
    }
    return text;
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
