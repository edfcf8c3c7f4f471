// SPDX-License-Identifier: Apache-2.0
// Bodies of half.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/half.hpp"

namespace tessera {

TESSERA_INLINE float float_of_half(std::uint16_t half) {
    const int exponent = (half >> 10U) & 31;
    const int digits = half & 1023;
    const float size = exponent == 31  ? (digits != 0 ? std::numeric_limits<float>::quiet_NaN()
                                                      : std::numeric_limits<float>::infinity())
                       : exponent == 0 ? std::ldexp(static_cast<float>(digits), -24)
                                       : std::ldexp(static_cast<float>(digits + 1024), exponent - 25);
    return (half & 0x8000U) != 0 ? -size : size;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
