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
void min_plus_block(const double* before, std::size_t count, const double* table, std::size_t columns, double none,
                    double* to, std::size_t k);

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

#ifndef TESSERA_COMPILED
#include "tessera/search/optcnn/min_plus.inl"
#endif

#include "tessera/base/end_header.inl"
