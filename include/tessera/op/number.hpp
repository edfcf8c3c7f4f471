// SPDX-License-Identifier: Apache-2.0
// Numbers as template arguments: leaky_relu<0.1>. Not every compiler takes a double there, but all take a type that
// holds integers.
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstdint>
#include <type_traits>

namespace tessera {

/// A double: digits * 10^-places, as compilers then show it, or its bits where it is not so few digits.
struct number {
    static constexpr int as_bits = -1; ///< in `places`

    std::int64_t digits = 0;
    int places = 0;

    constexpr number() = default;
    template <class Arithmetic>
    requires std::is_arithmetic_v<Arithmetic>
    constexpr number(Arithmetic x) {
        const auto wanted = static_cast<double>(x);
        constexpr double exact = 9007199254740992; // 2^53: below it doubles are all integers
        double power = 1;
        for (int p = 0; p <= 15; ++p, power *= 10) {
            const double scaled = wanted * power;
            if (!(scaled > -exact && scaled < exact)) {
                break;
            }
            const auto nearest = static_cast<std::int64_t>(scaled + (scaled < 0 ? -0.5 : 0.5));
            if (__builtin_bit_cast(std::int64_t, static_cast<double>(nearest) / power) ==
                __builtin_bit_cast(std::int64_t, wanted)) {
                digits = nearest;
                places = p;
                return;
            }
        }
        digits = __builtin_bit_cast(std::int64_t, wanted);
        places = as_bits;
    }

    constexpr double value() const {
        if (places == as_bits) {
            return __builtin_bit_cast(double, digits);
        }
        double power = 1;
        for (int p = 0; p < places; ++p) {
            power *= 10;
        }
        return static_cast<double>(digits) / power;
    }

    friend constexpr bool operator==(const number&, const number&) = default;
};

} // namespace tessera

#include "tessera/base/end_header.inl"
