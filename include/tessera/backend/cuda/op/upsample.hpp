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
TESSERA_DEVICE_CODE(upsample_code,

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

/// at: x, y. n of both: planes, rows and columns of y, their first ones, rows and columns of x, their first ones,
/// height and width of the whole input, factors of both.
template <class T>
__device__ void bilinear_forward_of(const arguments& a) {
    const T* x = pointer<const T>(a, 0);
    for (long long i = first_index(); i < a.n[0] * a.n[1] * a.n[2]; i += index_step()) {
        const linear_taps rows(i / a.n[2] % a.n[1] + a.n[3], a.n[11], a.n[9]);
        const linear_taps columns(i % a.n[2] + a.n[4], a.n[12], a.n[10]);
        const T* plane = x + i / (a.n[1] * a.n[2]) * a.n[5] * a.n[6];
        float sum = 0.0f;
        for (int k = 0; k < 4; ++k) {
            const float weight = rows.weight[k / 2] * columns.weight[k % 2];
            if (weight != 0.0f) {
                sum += weight * plane[(rows.at[k / 2] - a.n[7]) * a.n[6] + columns.at[k % 2] - a.n[8]];
            }
        }
        pointer<T>(a, 1)[i] = sum;
    }
}
TYPED_KERNEL(bilinear_forward)

/// A thread for each pixel of the input, which adds up what it gave. at: dy, dx.
template <class T>
__device__ void bilinear_backward_of(const arguments& a) {
    const T* dy = pointer<const T>(a, 0);
    for (long long i = first_index(); i < a.n[0] * a.n[5] * a.n[6]; i += index_step()) {
        const long long row = i / a.n[6] % a.n[5] + a.n[7];
        const long long column = i % a.n[6] + a.n[8];
        const T* plane = dy + i / (a.n[5] * a.n[6]) * a.n[1] * a.n[2];
        const long long row_end = (row + 2) * a.n[11] < a.n[3] + a.n[1] ? (row + 2) * a.n[11] : a.n[3] + a.n[1];
        const long long column_end = (column + 2) * a.n[12] < a.n[4] + a.n[2] ? (column + 2) * a.n[12] : a.n[4] + a.n[2];
        float sum = 0.0f;
        for (long long h = (row - 1) * a.n[11] > a.n[3] ? (row - 1) * a.n[11] : a.n[3]; h < row_end; ++h) {
            const linear_taps rows(h, a.n[11], a.n[9]);
            for (long long w = (column - 1) * a.n[12] > a.n[4] ? (column - 1) * a.n[12] : a.n[4]; w < column_end; ++w) {
                const linear_taps columns(w, a.n[12], a.n[10]);
                float weight = 0.0f;
                for (int k = 0; k < 4; ++k) {
                    if (rows.at[k / 2] == row && columns.at[k % 2] == column) {
                        weight += rows.weight[k / 2] * columns.weight[k % 2];
                    }
                }
                if (weight != 0.0f) {
                    sum += weight * plane[(h - a.n[3]) * a.n[2] + w - a.n[4]];
                }
            }
        }
        pointer<T>(a, 1)[i] = sum;
    }
}
TYPED_KERNEL(bilinear_backward)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

kernel_numbers bilinear_numbers(const shard_call& s);

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
