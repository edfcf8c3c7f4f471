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
TESSERA_KERNELS(channel_code,

struct matrix_numbers {
    index_t rows = 0;
    index_t columns = 0;
};
struct channel_numbers {
    index_t samples = 0;
    index_t channels = 0;
    index_t plane = 0;  ///< elements of a channel of a sample
    index_t wanted = 0; ///< sums: 1 both in double, 2 the second in float, 4 the first in float
    index_t parts = 0;  ///< blocks that share a channel; 0: one
};
struct norm_reals {
    double count = 0; ///< elements that the statistics are of; 0: they are running mean and variance
    double epsilon = 0;
};
,

/// The gradient of a bias. at: dy[rows, columns], to[columns].
template <class T>
__device__ void column_sums_of(const given<matrix_numbers>& a) {
    const T* dy = pointer<const T>(a, 0);
    for (long long c = first_index(); c < a.n.columns; c += index_step()) {
        float sum = 0.0f;
        for (long long r = 0; r < a.n.rows; ++r) {
            sum += dy[r * a.n.columns + c];
        }
        pointer<float>(a, 1)[c] = sum;
    }
}
TYPED_KERNEL(column_sums, matrix_numbers)

/// The elements of a channel that fall to a thread, one by one without a division.
struct channel_walk {
    long long parts;
    long long channel;
    long long part;
    long long sample;
    long long place;
    long long samples_on;
    long long places_on;

    __device__ explicit channel_walk(const channel_numbers& n) {
        parts = n.parts > 1 ? n.parts : 1;
        channel = blockIdx.x / parts;
        part = blockIdx.x % parts;
        const long long first = part * blockDim.x + threadIdx.x;
        const long long step = parts * blockDim.x;
        sample = first / n.plane;
        place = first % n.plane;
        samples_on = step / n.plane;
        places_on = step % n.plane;
    }
    __device__ bool is_inside(const channel_numbers& n) const { return sample < n.samples; }
    __device__ long long at(const channel_numbers& n) const {
        return (sample * n.channels + channel) * n.plane + place;
    }
    __device__ void go_on(const channel_numbers& n) {
        sample += samples_on;
        place += places_on;
        if (place >= n.plane) {
            place -= n.plane;
            ++sample;
        }
    }
};

/// One or several blocks for each channel. at: x, sums[parts, 2, channels].
template <class T>
__device__ void channel_statistics_of(const given<channel_numbers>& a) {
    __shared__ double shared[256];
    const T* x = pointer<const T>(a, 0);
    double first = 0;
    double second = 0;
    channel_walk w(a.n);
    for (; w.is_inside(a.n); w.go_on(a.n)) {
        const double value = x[w.at(a.n)];
        first += value;
        second += value * value;
    }
    first = block_sum(first, shared);
    second = block_sum(second, shared);
    if (threadIdx.x == 0) {
        double* sums = pointer<double>(a, 1) + w.part * 2 * a.n.channels;
        sums[w.channel] = first;
        sums[a.n.channels + w.channel] = second;
    }
}
TYPED_KERNEL(channel_statistics, channel_numbers)

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

/// Writes two sums of a channel where they are wanted, from at[k] on.
template <class Arguments>
__device__ inline void give_sums(const Arguments& a, int k, long long c, double first, double second) {
    if (a.n.wanted % 2 == 1) {
        pointer<double>(a, k)[c] = first;
        pointer<double>(a, k)[a.n.channels + c] = second;
    }
    if (a.n.wanted / 2 % 2 == 1) {
        pointer<float>(a, k + 1)[c] = static_cast<float>(second);
    }
    if (a.n.wanted / 4 % 2 == 1) {
        pointer<float>(a, k + 2)[c] = static_cast<float>(first);
    }
}

/// One or several blocks for each channel. at: dy, x, statistics, and to: the sums of dy and of dy * normalized x in
/// double, the latter in float (gamma), the former in float (beta); of several blocks: the sums [parts, 2, channels].
/// For beta alone x and statistics are not read.
template <class T>
__device__ void statistics_gradient_of(const given<channel_numbers, norm_reals>& a) {
    __shared__ double shared[256];
    const T* dy = pointer<const T>(a, 0);
    const T* x = pointer<const T>(a, 1);
    channel_walk w(a.n);
    const bool needs_x = a.n.wanted != 4;
    normalizer n = {0, 0};
    if (needs_x) {
        n = normalizer_of(a.at[2], w.channel, a.n.channels, a.f.count, a.f.epsilon);
    }
    double plain = 0;
    double normal = 0;
    for (; w.is_inside(a.n); w.go_on(a.n)) {
        const long long at = w.at(a.n);
        plain += dy[at];
        if (needs_x) {
            normal += dy[at] * ((x[at] - n.mean) * n.inverse);
        }
    }
    plain = block_sum(plain, shared);
    normal = block_sum(normal, shared);
    if (threadIdx.x == 0) {
        if (w.parts > 1) {
            double* sums = pointer<double>(a, 3) + w.part * 2 * a.n.channels;
            sums[w.channel] = plain;
            sums[a.n.channels + w.channel] = normal;
        } else {
            give_sums(a, 3, w.channel, plain, normal);
        }
    }
}
TYPED_KERNEL(statistics_gradient, channel_numbers, norm_reals)

/// What the blocks of a channel have found, added in their order. at: sums[parts, 2, channels], and to: as
/// statistics_gradient.
KERNEL(add_channel_parts, channel_numbers) {
    for (long long c = first_index(); c < a.n.channels; c += index_step()) {
        double first = 0;
        double second = 0;
        for (long long p = 0; p < a.n.parts; ++p) {
            const double* sums = pointer<const double>(a, 0) + p * 2 * a.n.channels;
            first += sums[c];
            second += sums[a.n.channels + c];
        }
        give_sums(a, 1, c, first, second);
    }
}

)
// clang-format on

} // namespace tessera::cuda::kernels

#include "tessera/base/end_header.inl"
