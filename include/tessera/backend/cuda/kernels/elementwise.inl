// SPDX-License-Identifier: Apache-2.0
// Kernels that treat every element by itself. See common.inl for the rules of this text.
// clang-format off
TESSERA_DEVICE_CODE(

/// Copies a box between dense arrays. at: from, to. n: 5 counts, 5 strides of from, 5 of to, then 0 overwrite, 1 add, 2 larger.
template <class T>
__device__ void strided_copy(const arguments& a) {
    const T* from = pointer<const T>(a, 0);
    T* to = pointer<T>(a, 1);
    const long long count = a.n[0] * a.n[1] * a.n[2] * a.n[3] * a.n[4];
    for (long long i = first_index(); i < count; i += index_step()) {
        long long rest = i;
        long long source = 0;
        long long target = 0;
        for (int d = 4; d >= 0; --d) {
            const long long x = rest % a.n[d];
            rest /= a.n[d];
            source += x * a.n[5 + d];
            target += x * a.n[10 + d];
        }
        const T value = from[source];
        if (a.n[15] == 0) {
            to[target] = value;
        } else if (a.n[15] == 1) {
            to[target] += value;
        } else {
            to[target] = to[target] < value ? value : to[target];
        }
    }
}

extern "C" __global__ void strided_copy_f32(arguments a) { strided_copy<float>(a); }
extern "C" __global__ void strided_copy_f64(arguments a) { strided_copy<double>(a); }
extern "C" __global__ void strided_copy_i32(arguments a) { strided_copy<int>(a); }

/// at: a, b, to. n: count.
extern "C" __global__ void add(arguments a) {
    const float* x = pointer<const float>(a, 0);
    const float* y = pointer<const float>(a, 1);
    float* to = pointer<float>(a, 2);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        to[i] = x[i] + y[i];
    }
}

/// at: a, b, to. n: count.
extern "C" __global__ void multiply(arguments a) {
    const float* x = pointer<const float>(a, 0);
    const float* y = pointer<const float>(a, 1);
    float* to = pointer<float>(a, 2);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        to[i] = x[i] * y[i];
    }
}

/// x * P(X <= x) of a standard normal X. at: x, to. n: count.
extern "C" __global__ void gelu_forward(arguments a) {
    const float* x = pointer<const float>(a, 0);
    float* to = pointer<float>(a, 1);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        to[i] = x[i] * 0.5f * erfcf(-x[i] * 0.70710678118654752440f);
    }
}

/// at: x, dy, to. n: count.
extern "C" __global__ void gelu_backward(arguments a) {
    const float* x = pointer<const float>(a, 0);
    const float* dy = pointer<const float>(a, 1);
    float* to = pointer<float>(a, 2);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        const float p = 0.5f * erfcf(-x[i] * 0.70710678118654752440f);
        to[i] = dy[i] * (p + x[i] * expf(-x[i] * x[i] / 2) * 0.39894228040143267794f);
    }
}

/// The mixing function of SplitMix64, as in op/mask.hpp.
__device__ inline unsigned long long mix(unsigned long long z) {
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
}

/// Dropout of values or of gradients, by the global index. at: from, to, step. n: 5 extents of the tile, 5 global origins, 5 steps
/// of the mask's index, operator, per cent. f: factor of what is kept.
extern "C" __global__ void dropout(arguments a) {
    const float* from = pointer<const float>(a, 0);
    float* to = pointer<float>(a, 1);
    const step_values* now = pointer<const step_values>(a, 2);
    const unsigned long long key = mix(mix(mix(now->seed) ^ now->step) ^ static_cast<unsigned long long>(a.n[15]));
    const unsigned long long dropped = static_cast<unsigned long long>(a.n[16]) << 32U;
    const float scale = static_cast<float>(a.f[0]);
    const long long count = a.n[0] * a.n[1] * a.n[2] * a.n[3] * a.n[4];
    for (long long i = first_index(); i < count; i += index_step()) {
        long long rest = i;
        long long index = 0;
        for (int d = 4; d >= 0; --d) {
            index += (a.n[5 + d] + rest % a.n[d]) * a.n[10 + d];
            rest /= a.n[d];
        }
        const unsigned long long bits = mix(key ^ static_cast<unsigned long long>(index)) >> 32U;
        to[i] = bits * 100 >= dropped ? scale * from[i] : 0.0f;
    }
}

/// The gradient of a global average: every element of a plane gets the plane's number. at: dy, dx. n: count, plane. f: factor.
extern "C" __global__ void spread(arguments a) {
    const float* dy = pointer<const float>(a, 0);
    float* dx = pointer<float>(a, 1);
    const float scale = static_cast<float>(a.f[0]);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        dx[i] = dy[i / a.n[1]] * scale;
    }
}

)
// clang-format on
