// SPDX-License-Identifier: Apache-2.0
// Batch norm with statistics that are sums in double, and sums of columns. Arrays are [samples, channels, plane].
// clang-format off
TESSERA_DEVICE_CODE(

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
extern "C" __global__ void column_sums(arguments a) { column_sums_of<float>(a); }
extern "C" __global__ void column_sums_bf16(arguments a) { column_sums_of<bf16>(a); }

/// A block for each channel. at: x, sums[2, channels]. n: samples, channels, plane.
template <class T>
__device__ void channel_statistics_of(const arguments& a) {
    __shared__ double shared[256];
    const T* x = pointer<const T>(a, 0);
    double* sums = pointer<double>(a, 1);
    const long long c = blockIdx.x;
    double first = 0;
    double second = 0;
    for (long long i = threadIdx.x; i < a.n[0] * a.n[2]; i += blockDim.x) {
        const double value = x[(i / a.n[2] * a.n[1] + c) * a.n[2] + i % a.n[2]];
        first += value;
        second += value * value;
    }
    first = block_sum(first, shared);
    second = block_sum(second, shared);
    if (threadIdx.x == 0) {
        sums[c] = first;
        sums[a.n[1] + c] = second;
    }
}
extern "C" __global__ void channel_statistics(arguments a) { channel_statistics_of<float>(a); }
extern "C" __global__ void channel_statistics_bf16(arguments a) { channel_statistics_of<bf16>(a); }

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

/// at: x, statistics, gamma, beta, y. n: count, channels, plane. f: elements per channel (0: running statistics), epsilon.
template <class T>
__device__ void normalize_of(const arguments& a) {
    const T* x = pointer<const T>(a, 0);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        const long long c = i / a.n[2] % a.n[1];
        const normalizer n = normalizer_of(a.at[1], c, a.n[1], a.f[0], a.f[1]);
        const double normal = (x[i] - n.mean) * n.inverse;
        pointer<T>(a, 4)[i] =
            static_cast<float>(pointer<const float>(a, 2)[c] * normal + pointer<const float>(a, 3)[c]);
    }
}
extern "C" __global__ void normalize(arguments a) { normalize_of<float>(a); }
extern "C" __global__ void normalize_bf16(arguments a) { normalize_of<bf16>(a); }

/// A block for each channel. at: dy, x, statistics, and to: the sums of dy and of dy * normalized x in double, the latter in float (gamma), the
/// former in float (beta). n: samples, channels, plane, and which of these are wanted: 1 + 2 + 4. For beta alone x and statistics are not
/// read. f: as normalize.
template <class T>
__device__ void statistics_gradient_of(const arguments& a) {
    __shared__ double shared[256];
    const T* dy = pointer<const T>(a, 0);
    const T* x = pointer<const T>(a, 1);
    const long long c = blockIdx.x;
    const bool needs_x = a.n[3] != 4;
    normalizer n = {0, 0};
    if (needs_x) {
        n = normalizer_of(a.at[2], c, a.n[1], a.f[0], a.f[1]);
    }
    double plain = 0;
    double normal = 0;
    for (long long i = threadIdx.x; i < a.n[0] * a.n[2]; i += blockDim.x) {
        const long long at = (i / a.n[2] * a.n[1] + c) * a.n[2] + i % a.n[2];
        plain += dy[at];
        if (needs_x) {
            normal += dy[at] * ((x[at] - n.mean) * n.inverse);
        }
    }
    plain = block_sum(plain, shared);
    normal = block_sum(normal, shared);
    if (threadIdx.x == 0) {
        if (a.n[3] % 2 == 1) {
            pointer<double>(a, 3)[c] = plain;
            pointer<double>(a, 3)[a.n[1] + c] = normal;
        }
        if (a.n[3] / 2 % 2 == 1) {
            pointer<float>(a, 4)[c] = static_cast<float>(normal);
        }
        if (a.n[3] / 4 % 2 == 1) {
            pointer<float>(a, 5)[c] = static_cast<float>(plain);
        }
    }
}
extern "C" __global__ void statistics_gradient(arguments a) { statistics_gradient_of<float>(a); }
extern "C" __global__ void statistics_gradient_bf16(arguments a) { statistics_gradient_of<bf16>(a); }

/// dx = gamma / sigma * (dy - (sum of dy + normalized x * sum of dy * normalized x) / count).
/// at: dy, x, gamma, statistics, sums, dx. n and f: as normalize.
template <class T>
__device__ void normalize_gradient_of(const arguments& a) {
    const T* dy = pointer<const T>(a, 0);
    const T* x = pointer<const T>(a, 1);
    const double* sums = pointer<const double>(a, 4);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        const long long c = i / a.n[2] % a.n[1];
        const normalizer n = normalizer_of(a.at[3], c, a.n[1], a.f[0], a.f[1]);
        const double normal = (x[i] - n.mean) * n.inverse;
        pointer<T>(a, 5)[i] = static_cast<float>(pointer<const float>(a, 2)[c] * n.inverse *
                                                     (dy[i] - (sums[c] + normal * sums[a.n[1] + c]) / a.f[0]));
    }
}
extern "C" __global__ void normalize_gradient(arguments a) { normalize_gradient_of<float>(a); }
extern "C" __global__ void normalize_gradient_bf16(arguments a) { normalize_gradient_of<bf16>(a); }

/// Running statistics of a channel, which stay as they are where they would not be finite.
__device__ inline void update_running(float* running, long long channels, long long c, double momentum, double mean, double variance) {
    const float first = static_cast<float>((1 - momentum) * running[c] + momentum * mean);
    const float second = static_cast<float>((1 - momentum) * running[channels + c] + momentum * variance);
    if ((first - first) + (second - second) == 0) {
        running[c] = first;
        running[channels + c] = second;
    }
}

/// at: sums[2, channels], running[2, channels], count of losses that are not finite. n: channels, -, -, -, -, 1 with that count. f: elements
/// per channel, momentum.
extern "C" __global__ void running_statistics(arguments a) {
    const double* sums = pointer<const double>(a, 0);
    float* running = pointer<float>(a, 1);
    if (is_refused(a, a.at + 2)) {
        return;
    }
    for (long long c = first_index(); c < a.n[0]; c += index_step()) {
        const double mean = sums[c] / a.f[0];
        const double biased = sums[a.n[0] + c] / a.f[0] - mean * mean;
        const double variance = (biased < 0 ? 0 : biased) * (a.f[0] > 1 ? a.f[0] / (a.f[0] - 1) : 1);
        update_running(running, a.n[0], c, a.f[1], mean, variance);
    }
}

/// The same from mean and 1 / sqrt(variance + epsilon), as cuDNN saves them. at: saved[2, channels], running[2, channels], and the count.
/// n: as running_statistics. f: elements per channel, momentum, epsilon.
extern "C" __global__ void running_moments(arguments a) {
    const float* saved = pointer<const float>(a, 0);
    float* running = pointer<float>(a, 1);
    if (is_refused(a, a.at + 2)) {
        return;
    }
    for (long long c = first_index(); c < a.n[0]; c += index_step()) {
        const double inverse = saved[a.n[0] + c];
        const double biased = 1 / (inverse * inverse) - a.f[2];
        const double variance = (biased < 0 ? 0 : biased) * (a.f[0] > 1 ? a.f[0] / (a.f[0] - 1) : 1);
        update_running(running, a.n[0], c, a.f[1], saved[c], variance);
    }
}

)
// clang-format on
