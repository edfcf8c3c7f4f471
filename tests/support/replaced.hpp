// SPDX-License-Identifier: Apache-2.0
// A text in which something is otherwise, for tests of what is refused.
#pragma once

#include <doctest/doctest.h>

#include <string>

namespace test_support {

/// The text with the first place of `from`, which must be there, replaced.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t place = text.find(from);
    REQUIRE_MESSAGE(place != std::string::npos, from);
    return text.replace(place, from.size(), to);
}

} // namespace test_support
