// SPDX-License-Identifier: Apache-2.0
// The product of cost tables that node eliminations are made of: with + for * and min for +.
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstddef>
#include <cstring>
#include <type_traits>

namespace tessera::search::detail {

/// to[k] = min over j < count of before[j] + table[j * columns + k], at most `none`.
template <class T>
void min_plus_row(const T* before, std::size_t count, const T* table, std::size_t columns, T none, T* to) {
    for (std::size_t k = 0; k < columns; ++k) {
        to[k] = none;
    }
    for (std::size_t j = 0; j < count; ++j) {
        const T* row = table + j * columns;
        for (std::size_t k = 0; k < columns; ++k) {
            const T sum = before[j] + row[k];
            to[k] = sum < to[k] ? sum : to[k];
        }
    }
}

/// Two numbers that the processor adds and compares at once, in the form that GCC and clang have for it.
using double_pair = double __attribute__((vector_size(16)));

/// The same for eight columns from k on and two rows, `count` and `columns` apart: what is least stays in registers.
inline void min_plus_block(const double* before, std::size_t count, const double* table, std::size_t columns,
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

/// to[i][k] = min over j of before[i][j] + table[j][k], at most `none`.
template <class T>
void min_plus(const T* before, std::size_t rows, std::size_t count, const T* table, std::size_t columns, T none,
              T* to) {
    if constexpr (std::is_same_v<T, double>) {
        if (rows >= 2 && columns >= 8) { // the last block of either kind may overlap the one before
            for (std::size_t i = 0; i < rows; i += 2) {
                const std::size_t first = i + 2 <= rows ? i : rows - 2;
                for (std::size_t k = 0; k < columns; k += 8) {
                    min_plus_block(before + first * count, count, table, columns, none, to + first * columns,
                                   k + 8 <= columns ? k : columns - 8);
                }
            }
            return;
        }
    }
    for (std::size_t i = 0; i < rows; ++i) {
        min_plus_row(before + i * count, count, table, columns, none, to + i * columns);
    }
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
