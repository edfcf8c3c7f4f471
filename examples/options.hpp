// SPDX-License-Identifier: Apache-2.0
// The words of a command line as numbers, strictly: what is not wholly a number is refused.
#pragma once

#include <tessera/base/error.hpp>
#include <tessera/base/number_text.hpp>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

namespace options {

/// A command line that says something there is not; programs end with 2 instead of 1.
struct usage_error : tessera::error {
    using tessera::error::error;
};

inline double number(const std::string& name, const std::string& text) {
    double value = 0;
    if (!tessera::is_number_text(text, value) || !std::isfinite(value))
        throw usage_error(name + " takes a number, not '" + text + "'");
    return value;
}

template <class Integer>
Integer whole_number(const std::string& name, const std::string& text) {
    const double value = number(name, text);
    constexpr double most = 9e15; // below it a double has every whole number
    if (value != std::floor(value) || std::abs(value) > most ||
        std::abs(value) > static_cast<double>(std::numeric_limits<Integer>::max()))
        throw usage_error(name + " takes a whole number, not '" + text + "'");
    return static_cast<Integer>(value);
}

} // namespace options
