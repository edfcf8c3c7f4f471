// SPDX-License-Identifier: Apache-2.0
// How far a training has come from where another has, as a share of how far it has come at all.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace test_support {

/// The largest difference, as a share of the largest change of a parameter since the start.
inline double parameter_difference(const std::vector<std::vector<float>>& found,
                                   const std::vector<std::vector<double>>& expected,
                                   const std::vector<std::vector<double>>& start) {
    double worst = 0;
    double change = 0;
    for (std::size_t p = 0; p < expected.size(); ++p) {
        for (std::size_t i = 0; i < expected[p].size(); ++i) {
            worst = std::max(worst, std::abs(static_cast<double>(found[p][i]) - expected[p][i]));
            change = std::max(change, std::abs(expected[p][i] - start[p][i]));
        }
    }
    REQUIRE(change > 0);
    return worst / change;
}

} // namespace test_support
