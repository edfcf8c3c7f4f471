// SPDX-License-Identifier: Apache-2.0
// The product of cost tables that node eliminations are made of: with + for * and min for +.
#pragma once

#include <cstddef>
#include <type_traits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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

#if defined(__SSE2__)
/// The same for eight columns from k on and two rows, `count` and `columns` apart: what is least stays in registers.
inline void min_plus_block(const double* before, std::size_t count, const double* table, std::size_t columns,
                           double none, double* to, std::size_t k) {
    const auto smaller = [](__m128d first, __m128d second, __m128d least) {
        return _mm_min_pd(_mm_add_pd(first, second), least);
    };
    const __m128d most = _mm_set1_pd(none);
    __m128d a0 = most, a1 = most, a2 = most, a3 = most;
    __m128d b0 = most, b1 = most, b2 = most, b3 = most;
    const double* row = table + k;
    for (std::size_t j = 0; j < count; ++j, row += columns) {
        const __m128d a = _mm_set1_pd(before[j]);
        const __m128d b = _mm_set1_pd(before[count + j]);
        const __m128d r0 = _mm_loadu_pd(row);
        const __m128d r1 = _mm_loadu_pd(row + 2);
        const __m128d r2 = _mm_loadu_pd(row + 4);
        const __m128d r3 = _mm_loadu_pd(row + 6);
        a0 = smaller(a, r0, a0);
        a1 = smaller(a, r1, a1);
        a2 = smaller(a, r2, a2);
        a3 = smaller(a, r3, a3);
        b0 = smaller(b, r0, b0);
        b1 = smaller(b, r1, b1);
        b2 = smaller(b, r2, b2);
        b3 = smaller(b, r3, b3);
    }
    double* const first = to + k;
    double* const second = first + columns;
    _mm_storeu_pd(first, a0);
    _mm_storeu_pd(first + 2, a1);
    _mm_storeu_pd(first + 4, a2);
    _mm_storeu_pd(first + 6, a3);
    _mm_storeu_pd(second, b0);
    _mm_storeu_pd(second + 2, b1);
    _mm_storeu_pd(second + 4, b2);
    _mm_storeu_pd(second + 6, b3);
}
#endif

/// to[i][k] = min over j of before[i][j] + table[j][k], at most `none`.
template <class T>
void min_plus(const T* before, std::size_t rows, std::size_t count, const T* table, std::size_t columns, T none,
              T* to) {
#if defined(__SSE2__)
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
#endif
    for (std::size_t i = 0; i < rows; ++i) {
        min_plus_row(before + i * count, count, table, columns, none, to + i * columns);
    }
}

} // namespace tessera::search::detail
