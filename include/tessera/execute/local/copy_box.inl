// SPDX-License-Identifier: Apache-2.0
// Bodies of copy_box.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/copy_box.hpp"

namespace tessera {

TESSERA_INLINE void box_copy::apply(const void* from, void* to, element type, bool overwrite, reducer combine) const {
    switch (type) {
    case element::f32:
        apply(static_cast<const float*>(from), static_cast<float*>(to), overwrite, combine);
        break;
    case element::f64:
        apply(static_cast<const double*>(from), static_cast<double*>(to), overwrite, combine);
        break;
    case element::i32:
        apply(static_cast<const std::int32_t*>(from), static_cast<std::int32_t*>(to), overwrite, combine);
        break;
    case element::bf16:
        apply(static_cast<const bfloat16*>(from), static_cast<bfloat16*>(to), overwrite, combine);
        break;
    }
}

TESSERA_INLINE void box_copy::apply_input(const void* from, void* to, element type) const {
    if (type != element::bf16) {
        return apply(from, to, type, true, reducer::none);
    }
    const auto* numbers = static_cast<const float*>(from);
    auto* rounded = static_cast<bfloat16*>(to);
    for_each_row([&](index_t f, index_t t) {
        for (index_t i = 0; i < row; ++i) {
            rounded[t + i] = bfloat16(numbers[f + i]);
        }
    });
}

TESSERA_INLINE void numbers_of(element type, const std::byte* from, index_t count, float* to) {
    if (type != element::bf16) {
        std::memcpy(to, from, to_size(count) * sizeof(float));
        return;
    }
    const auto* stored = reinterpret_cast<const bfloat16*>(from);
    for (index_t i = 0; i < count; ++i) {
        to[i] = stored[i];
    }
}

TESSERA_INLINE void store_numbers(element type, const float* from, index_t count, std::byte* to) {
    if (type != element::bf16) {
        std::memcpy(to, from, to_size(count) * sizeof(float));
        return;
    }
    auto* stored = reinterpret_cast<bfloat16*>(to);
    for (index_t i = 0; i < count; ++i) {
        stored[i] = bfloat16(from[i]);
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
