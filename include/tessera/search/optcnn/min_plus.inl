// SPDX-License-Identifier: Apache-2.0
// Bodies of min_plus.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/optcnn/min_plus.hpp"

namespace tessera::search::detail {

TESSERA_INLINE void min_plus_block(const double* before, std::size_t count, const double* table, std::size_t columns,
                                   double none, double* to, std::size_t k) {
    const auto both = [](double x) { return double_pair{x, x}; };
    const auto load = [](const double* from) {
        double_pair x;
        std::memcpy(&x, from, sizeof x);
        return x;
    };
    const auto smaller = [](double_pair first, double_pair second, double_pair least) {
        const double_pair sum = first + second;
        return sum < least ? sum : least;
    };
    const double_pair most = both(none);
    double_pair a0 = most, a1 = most, a2 = most, a3 = most;
    double_pair b0 = most, b1 = most, b2 = most, b3 = most;
    const double* row = table + k;
    for (std::size_t j = 0; j < count; ++j, row += columns) {
        const double_pair a = both(before[j]);
        const double_pair b = both(before[count + j]);
        const double_pair r0 = load(row);
        const double_pair r1 = load(row + 2);
        const double_pair r2 = load(row + 4);
        const double_pair r3 = load(row + 6);
        a0 = smaller(a, r0, a0);
        a1 = smaller(a, r1, a1);
        a2 = smaller(a, r2, a2);
        a3 = smaller(a, r3, a3);
        b0 = smaller(b, r0, b0);
        b1 = smaller(b, r1, b1);
        b2 = smaller(b, r2, b2);
        b3 = smaller(b, r3, b3);
    }
    const double_pair least[] = {a0, a1, a2, a3, b0, b1, b2, b3};
    std::memcpy(to + k, least, 4 * sizeof(double_pair));
    std::memcpy(to + columns + k, least + 4, 4 * sizeof(double_pair));
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
