// SPDX-License-Identifier: Apache-2.0
// Sorting that keeps the order of equals: what std::stable_sort does.
#include "tessera/base/stable_sort.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

TEST_CASE("equals keep their order, in lists of every length and of few different keys") {
    std::mt19937 random(1);
    const auto smaller = [](const std::pair<int, int>& a, const std::pair<int, int>& b) { return a.first < b.first; };
    for (int length = 0; length < 200; ++length) {
        std::vector<std::pair<int, int>> all;
        for (int i = 0; i < length; ++i) {
            all.emplace_back(static_cast<int>(random() % 7), i);
        }
        std::vector<std::pair<int, int>> expected = all;
        std::stable_sort(expected.begin(), expected.end(), smaller);
        tessera::detail::stable_sort(all, smaller);
        CHECK(all == expected);
    }
}
