// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/optcnn/min_plus.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <vector>

namespace {

/// Every sum, one by one.
template <class T>
std::vector<T> all_sums(const std::vector<T>& before, std::size_t rows, std::size_t count, const std::vector<T>& table,
                        std::size_t columns, T none) {
    std::vector<T> least(rows * columns, none);
    for (std::size_t i = 0; i < rows; ++i) {
        for (std::size_t k = 0; k < columns; ++k) {
            for (std::size_t j = 0; j < count; ++j) {
                least[i * columns + k] =
                    std::min(least[i * columns + k], before[i * count + j] + table[j * columns + k]);
            }
        }
    }
    return least;
}

template <class T>
void compare(T none, std::mt19937& random) {
    const std::size_t rows = 1 + random() % 7;
    const std::size_t count = 1 + random() % 9;
    const std::size_t columns = 1 + random() % 27;
    const auto numbers = [&](std::size_t size) {
        std::vector<T> x;
        while (x.size() < size) {
            x.push_back(random() % 6 == 0 ? none : static_cast<T>(random() % 1000));
        }
        return x;
    };
    const std::vector<T> before = numbers(rows * count);
    const std::vector<T> table = numbers(count * columns);
    std::vector<T> found(rows * columns + 1, T{-7});
    tessera::search::detail::min_plus(before.data(), rows, count, table.data(), columns, none, found.data());
    CHECK(found.back() == T{-7}); // nothing behind the table
    found.pop_back();
    REQUIRE(found == all_sums(before, rows, count, table, columns, none));
}

} // namespace

TEST_CASE("products of cost tables of every size are those of all sums") {
    std::mt19937 random(9);
    for (int i = 0; i < 2000; ++i) {
        compare<double>(std::numeric_limits<double>::infinity(), random);
        compare<std::int64_t>(INT64_MAX / 4, random);
    }
}
