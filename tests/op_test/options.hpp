// SPDX-License-Identifier: Apache-2.0
// The words of the command line.
#pragma once

#include "op_test/rows.hpp"

#include <optional>
#include <string>
#include <vector>

namespace op_test {

struct options {
    std::vector<std::string> backends; ///< empty: all that can run here
    std::vector<std::string> ops;      ///< empty: all
    numbers seeds{1, 1};
    numbers networks;
    numbers windows;
    std::vector<ts::precision> precisions; ///< empty: all that a backend takes
    std::array<bool, parts> wanted{true, true, true};
    std::optional<int> devices; ///< without: by the seed
    double seconds = 0;         ///< after which no further case of a backend begins; 0: no limit
    bool lists = false;
    bool helps = false;
    bool quiet = false;
    bool wrong_row = false;
};

/// Throws tessera::error for what is no option, or no value of one.
options read_options(const std::vector<std::string>& words);

/// The options with a line each.
std::string help();

} // namespace op_test
