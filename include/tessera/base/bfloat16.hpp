// SPDX-License-Identifier: Apache-2.0
// The upper half of an fp32 number: 8 bits of exponent, 7 of mantissa.
#pragma once
#include "tessera/base/begin_header.inl"

#include <bit>
#include <cstdint>

namespace tessera {

/// A stored number; arithmetic is that of float.
struct bfloat16 {
    std::uint16_t bits = 0;

    constexpr bfloat16() = default;
    /// The nearest one, the even one of two; NaN stays NaN.
    constexpr explicit bfloat16(float x) {
        const auto all = std::bit_cast<std::uint32_t>(x);
        const bool nan = (all & 0x7fffffffU) > 0x7f800000U;
        bits = static_cast<std::uint16_t>(nan ? (all >> 16U) | 0x40U : (all + 0x7fffU + ((all >> 16U) & 1U)) >> 16U);
    }
    static constexpr bfloat16 of_bits(std::uint16_t stored) {
        bfloat16 x;
        x.bits = stored;
        return x;
    }
    constexpr operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }
    constexpr bfloat16& operator+=(bfloat16 x) {
        return *this = bfloat16(static_cast<float>(*this) + static_cast<float>(x));
    }
};

/// A number as bf16 has it.
template <class Real>
constexpr Real round_to_bf16(Real x) {
    return static_cast<Real>(static_cast<float>(bfloat16(static_cast<float>(x))));
}

} // namespace tessera

#include "tessera/base/end_header.inl"
