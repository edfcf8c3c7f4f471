// SPDX-License-Identifier: Apache-2.0
// Where the runner's rows come from. A new operator is a line of tests/op/table.hpp, and no line here.
#pragma once

#include "op_test/task.hpp"

#include <cstdint>
#include <string_view>
#include <vector>

namespace op_test {

/// Numbers from first to last; none where there are 0.
struct numbers {
    std::uint64_t first = 1;
    std::uint64_t last = 0;
};

/// The table of operators, those that tests write as loop nests, and every optimizer on a linear layer.
std::vector<row> table_rows();
/// The operators of random networks, as tests/fuzz/fuzz_networks.cpp draws them.
std::vector<row> rows_of_networks(numbers which);
/// Random convolutions, as tests/fuzz/fuzz_windows.cpp draws them, but small.
std::vector<row> rows_of_windows(numbers which);

/// A word as a shell reads it.
std::string quoted(const std::string& word);

/// Whether a name or an operator is meant: as it is written, or by a pattern with * for any letters.
bool is_meant(std::string_view pattern, const row& r);

/// Those that one of the patterns means, or all where there are none. Throws tessera::error where a pattern means none.
std::vector<row> chosen(const std::vector<row>& all, const std::vector<std::string>& patterns);

} // namespace op_test
