// SPDX-License-Identifier: Apache-2.0
// Sums over channels or columns, in double: statistics, their gradients, and gradients of biases. Arrays are [samples,
// channels, plane].
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/common.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel column_sums{"column_sums", true};
inline constexpr kernel channel_statistics{"channel_statistics", true};
inline constexpr kernel statistics_gradient{"statistics_gradient", true};
inline constexpr kernel add_channel_parts{"add_channel_parts"};

// clang-format off
TESSERA_DEVICE_CODE(channel_code,

/// The gradient of a bias. at: dy[rows, columns], to[columns]. n: rows, columns.
template <class T>
__device__ void column_sums_of(const arguments& a) {
    const T* dy = pointer<const T>(a, 0);
    for (long long c = first_index(); c < a.n[1]; c += index_step()) {
        float sum = 0.0f;
        for (long long r = 0; r < a.n[0]; ++r) {
            sum += dy[r * a.n[1] + c];
        }
        pointer<float>(a, 1)[c] = sum;
    }
}
TYPED_KERNEL(column_sums)

/// The elements of a channel that fall to a thread, one by one without a division: n[4] blocks share a channel (0:
/// one). n: samples, channels, plane.
struct channel_walk {
    long long parts;
    long long channel;
    long long part;
    long long sample;
    long long place;
    long long samples_on;
    long long places_on;

    __device__ explicit channel_walk(const arguments& a) {
        parts = a.n[4] > 1 ? a.n[4] : 1;
        channel = blockIdx.x / parts;
        part = blockIdx.x % parts;
        const long long first = part * blockDim.x + threadIdx.x;
        const long long step = parts * blockDim.x;
        sample = first / a.n[2];
        place = first % a.n[2];
        samples_on = step / a.n[2];
        places_on = step % a.n[2];
    }
    __device__ bool is_inside(const arguments& a) const { return sample < a.n[0]; }
    __device__ long long at(const arguments& a) const { return (sample * a.n[1] + channel) * a.n[2] + place; }
    __device__ void go_on(const arguments& a) {
        sample += samples_on;
        place += places_on;
        if (place >= a.n[2]) {
            place -= a.n[2];
            ++sample;
        }
    }
};

/// One or several blocks for each channel. at: x, sums[parts, 2, channels]. n: as channel_walk.
template <class T>
__device__ void channel_statistics_of(const arguments& a) {
    __shared__ double shared[256];
    const T* x = pointer<const T>(a, 0);
    double first = 0;
    double second = 0;
    channel_walk w(a);
    for (; w.is_inside(a); w.go_on(a)) {
        const double value = x[w.at(a)];
        first += value;
        second += value * value;
    }
    first = block_sum(first, shared);
    second = block_sum(second, shared);
    if (threadIdx.x == 0) {
        double* sums = pointer<double>(a, 1) + w.part * 2 * a.n[1];
        sums[w.channel] = first;
        sums[a.n[1] + w.channel] = second;
    }
}
TYPED_KERNEL(channel_statistics)

struct normalizer {
    double mean;
    double inverse;
};

/// From sums over `count` elements, or (count 0) from running mean and variance.
__device__ inline normalizer normalizer_of(const void* statistics, long long c, long long channels, double count, double epsilon) {
    const double first = count > 0 ? static_cast<const double*>(statistics)[c] : static_cast<const float*>(statistics)[c];
    const double second =
        count > 0 ? static_cast<const double*>(statistics)[channels + c] : static_cast<const float*>(statistics)[channels + c];
    const double mean = count > 0 ? first / count : first;
    const double variance = count > 0 ? second / count - mean * mean : second;
    return {mean, 1 / sqrt((variance < 0 ? 0 : variance) + epsilon)};
}

/// Writes two sums of a channel where they are wanted (n[3]: 1 both in double, 2 the second in float, 4 the first in
/// float), from at[k] on.
__device__ inline void give_sums(const arguments& a, int k, long long c, double first, double second) {
    if (a.n[3] % 2 == 1) {
        pointer<double>(a, k)[c] = first;
        pointer<double>(a, k)[a.n[1] + c] = second;
    }
    if (a.n[3] / 2 % 2 == 1) {
        pointer<float>(a, k + 1)[c] = static_cast<float>(second);
    }
    if (a.n[3] / 4 % 2 == 1) {
        pointer<float>(a, k + 2)[c] = static_cast<float>(first);
    }
}

/// One or several blocks for each channel. at: dy, x, statistics, and to: the sums of dy and of dy * normalized x in
/// double, the latter in float (gamma), the former in float (beta); of several blocks: the sums [parts, 2, channels].
/// n: as channel_walk, and n[3] which of these are wanted: 1 + 2 + 4. For beta alone x and statistics are not read. f:
/// as normalize.
template <class T>
__device__ void statistics_gradient_of(const arguments& a) {
    __shared__ double shared[256];
    const T* dy = pointer<const T>(a, 0);
    const T* x = pointer<const T>(a, 1);
    channel_walk w(a);
    const bool needs_x = a.n[3] != 4;
    normalizer n = {0, 0};
    if (needs_x) {
        n = normalizer_of(a.at[2], w.channel, a.n[1], a.f[0], a.f[1]);
    }
    double plain = 0;
    double normal = 0;
    for (; w.is_inside(a); w.go_on(a)) {
        const long long at = w.at(a);
        plain += dy[at];
        if (needs_x) {
            normal += dy[at] * ((x[at] - n.mean) * n.inverse);
        }
    }
    plain = block_sum(plain, shared);
    normal = block_sum(normal, shared);
    if (threadIdx.x == 0) {
        if (w.parts > 1) {
            double* sums = pointer<double>(a, 3) + w.part * 2 * a.n[1];
            sums[w.channel] = plain;
            sums[a.n[1] + w.channel] = normal;
        } else {
            give_sums(a, 3, w.channel, plain, normal);
        }
    }
}
TYPED_KERNEL(statistics_gradient)

/// What the blocks of a channel have found, added in their order. at: sums[parts, 2, channels], and to: as
/// statistics_gradient. n: -, channels, -, what is wanted, parts.
KERNEL(add_channel_parts) {
    for (long long c = first_index(); c < a.n[1]; c += index_step()) {
        double first = 0;
        double second = 0;
        for (long long p = 0; p < a.n[4]; ++p) {
            const double* sums = pointer<const double>(a, 0) + p * 2 * a.n[1];
            first += sums[c];
            second += sums[a.n[1] + c];
        }
        give_sums(a, 1, c, first, second);
    }
}

)
// clang-format on

} // namespace tessera::cuda::kernels

#include "tessera/base/end_header.inl"
