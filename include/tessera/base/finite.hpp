// SPDX-License-Identifier: Apache-2.0
// Which numbers are finite, told by their bits (IEEE 754): under -ffast-math the standard library's functions say that
// all are.
#pragma once
#include "tessera/base/begin_header.inl"

#include <bit>
#include <cstdint>

namespace tessera {

/// Sign and digits aside, what is not finite has all bits of the exponent.
constexpr bool is_finite(float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7f800000U) != 0x7f800000U; }
constexpr bool is_finite(double x) {
    return (std::bit_cast<std::uint64_t>(x) & 0x7ff0000000000000U) != 0x7ff0000000000000U;
}

constexpr bool is_nan(float x) { return (std::bit_cast<std::uint32_t>(x) & 0x7fffffffU) > 0x7f800000U; }
constexpr bool is_nan(double x) {
    return (std::bit_cast<std::uint64_t>(x) & 0x7fffffffffffffffU) > 0x7ff0000000000000U;
}

constexpr bool is_infinite(float x) { return !is_finite(x) && !is_nan(x); }
constexpr bool is_infinite(double x) { return !is_finite(x) && !is_nan(x); }

} // namespace tessera

#include "tessera/base/end_header.inl"
