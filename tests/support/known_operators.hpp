// SPDX-License-Identifier: Apache-2.0
// The library's operators by number, for tests that say something of each.
#pragma once

#include "tessera/op/library.hpp"

#include <iterator>

namespace test_support {

enum class known_op {
#define TESSERA_OPERATOR(name) name,
    TESSERA_OPERATORS(TESSERA_OPERATOR)
#undef TESSERA_OPERATOR
};

inline constexpr int op_kinds = static_cast<int>(std::size(tessera::library_operators));

/// The place of an operator in the library's list; all that are not there come behind it.
constexpr known_op known(tessera::op_kind kind) {
    int number = 0;
    while (number < op_kinds && tessera::library_operators[number] != kind.record) {
        ++number;
    }
    return static_cast<known_op>(number);
}
constexpr int number_of(tessera::op_kind kind) { return static_cast<int>(known(kind)); }

} // namespace test_support
