// SPDX-License-Identifier: Apache-2.0
// Bodies of source.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/source.hpp"

namespace tessera::cuda {

TESSERA_INLINE std::string source_of(const std::string& kernels) {
    return std::string(detail::kernel_macros) + kernels::common_code + kernels;
}

TESSERA_INLINE std::string kernel_source(row_table rows) {
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
