// SPDX-License-Identifier: Apache-2.0
// Images made larger, with pixels between their neighbours.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/op/upsample.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel bilinear_forward{"bilinear_forward", true};
inline constexpr kernel bilinear_backward{"bilinear_backward", true};

// clang-format off
TESSERA_KERNELS(upsample_code,

/// Pairs: of rows, of columns.
struct bilinear_numbers {
    index_t planes = 0;
    index_t y[2] = {};
    index_t first_y[2] = {}; ///< the shard's
    index_t x[2] = {};
    index_t first_x[2] = {};
    index_t whole_x[2] = {}; ///< of the whole input
    index_t factor[2] = {};
};
,

/// What index `out` of the result has of the input's places at[0] and at[1], as op::taps_of().
struct linear_taps {
    long long at[2];
    float weight[2];

    __device__ linear_taps(long long out, long long factor, long long extent) {
        const long long phase = 2 * (out % factor) + 1 - factor;
        const long long first = phase < 0 ? out / factor - 1 : out / factor;
        weight[1] = static_cast<float>(phase < 0 ? phase + 2 * factor : phase) / static_cast<float>(2 * factor);
        weight[0] = 1.0f - weight[1];
        at[0] = first < 0 ? 0 : first;
        at[1] = first + 1 < extent ? first + 1 : extent - 1;
    }
};

/// at: x, y.
template <class T>
__device__ void bilinear_forward_of(const given<bilinear_numbers>& a) {
    const bilinear_numbers& n = a.n;
    const T* x = pointer<const T>(a, 0);
    for (long long i = first_index(); i < n.planes * n.y[0] * n.y[1]; i += index_step()) {
        const linear_taps rows(i / n.y[1] % n.y[0] + n.first_y[0], n.factor[0], n.whole_x[0]);
        const linear_taps columns(i % n.y[1] + n.first_y[1], n.factor[1], n.whole_x[1]);
        const T* plane = x + i / (n.y[0] * n.y[1]) * n.x[0] * n.x[1];
        float sum = 0.0f;
        for (int k = 0; k < 4; ++k) {
            const float weight = rows.weight[k / 2] * columns.weight[k % 2];
            if (weight != 0.0f) {
                sum += weight * plane[(rows.at[k / 2] - n.first_x[0]) * n.x[1] + columns.at[k % 2] - n.first_x[1]];
            }
        }
        pointer<T>(a, 1)[i] = sum;
    }
}
TYPED_KERNEL(bilinear_forward, bilinear_numbers)

/// A thread for each pixel of the input, which adds up what it gave. at: dy, dx.
template <class T>
__device__ void bilinear_backward_of(const given<bilinear_numbers>& a) {
    const bilinear_numbers& n = a.n;
    const T* dy = pointer<const T>(a, 0);
    for (long long i = first_index(); i < n.planes * n.x[0] * n.x[1]; i += index_step()) {
        const long long row = i / n.x[1] % n.x[0] + n.first_x[0];
        const long long column = i % n.x[1] + n.first_x[1];
        const T* plane = dy + i / (n.x[0] * n.x[1]) * n.y[0] * n.y[1];
        const long long row_end =
            (row + 2) * n.factor[0] < n.first_y[0] + n.y[0] ? (row + 2) * n.factor[0] : n.first_y[0] + n.y[0];
        const long long column_end =
            (column + 2) * n.factor[1] < n.first_y[1] + n.y[1] ? (column + 2) * n.factor[1] : n.first_y[1] + n.y[1];
        float sum = 0.0f;
        long long h = (row - 1) * n.factor[0] > n.first_y[0] ? (row - 1) * n.factor[0] : n.first_y[0];
        for (; h < row_end; ++h) {
            const linear_taps rows(h, n.factor[0], n.whole_x[0]);
            long long w = (column - 1) * n.factor[1] > n.first_y[1] ? (column - 1) * n.factor[1] : n.first_y[1];
            for (; w < column_end; ++w) {
                const linear_taps columns(w, n.factor[1], n.whole_x[1]);
                float weight = 0.0f;
                for (int k = 0; k < 4; ++k) {
                    if (rows.at[k / 2] == row && columns.at[k % 2] == column) {
                        weight += rows.weight[k / 2] * columns.weight[k % 2];
                    }
                }
                if (weight != 0.0f) {
                    sum += weight * plane[(h - n.first_y[0]) * n.y[1] + w - n.first_y[1]];
                }
            }
        }
        pointer<T>(a, 1)[i] = sum;
    }
}
TYPED_KERNEL(bilinear_backward, bilinear_numbers)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

kernels::bilinear_numbers bilinear_numbers_of(const shard_call& s);

void bilinear_forward(const shard_call& s);

void bilinear_backward(const shard_call& s);

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row upsample_row{
    .of = &op::upsample_bilinear_record,
    .forward = detail::bilinear_forward,
    .backward = detail::bilinear_backward,
    .calls_forward = "kernel:bilinear_forward",
    .calls_backward = "kernel:bilinear_backward",
    .why = "no classic vendor call interpolates with neighbours beyond a shard's border",
    .code = kernels::upsample_code,
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/upsample.inl"
#endif

#include "tessera/base/end_header.inl"
