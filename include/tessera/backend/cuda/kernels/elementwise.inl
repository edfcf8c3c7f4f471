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
            to[target] = to[target] < value || value != value ? value : to[target];
        }
    }
}

extern "C" __global__ void strided_copy_f32(arguments a) { strided_copy<float>(a); }
extern "C" __global__ void strided_copy_f64(arguments a) { strided_copy<double>(a); }
extern "C" __global__ void strided_copy_i32(arguments a) { strided_copy<int>(a); }
extern "C" __global__ void strided_copy_bf16(arguments a) { strided_copy<bf16>(a); }

/// at: floats, bf16. n: count.
extern "C" __global__ void round_to_bf16(arguments a) {
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        pointer<bf16>(a, 1)[i] = pointer<const float>(a, 0)[i];
    }
}

/// at: bf16, floats. n: count.
extern "C" __global__ void widen_bf16(arguments a) {
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        pointer<float>(a, 1)[i] = pointer<const bf16>(a, 0)[i];
    }
}

/// The bias of a channel, of floats, added to bf16. at: bias, y. n: count, channels, plane.
extern "C" __global__ void add_bias_bf16(arguments a) {
    bf16* y = pointer<bf16>(a, 1);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        y[i] += pointer<const float>(a, 0)[i / a.n[2] % a.n[1]];
    }
}

/// at: a, b, to. n: count.
template <class T>
__device__ void add_of(const arguments& a) {
    const T* x = pointer<const T>(a, 0);
    const T* y = pointer<const T>(a, 1);
    T* to = pointer<T>(a, 2);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        to[i] = x[i] + y[i];
    }
}
extern "C" __global__ void add(arguments a) { add_of<float>(a); }
extern "C" __global__ void add_bf16(arguments a) { add_of<bf16>(a); }

/// at: a, b, to. n: count.
template <class T>
__device__ void multiply_of(const arguments& a) {
    const T* x = pointer<const T>(a, 0);
    const T* y = pointer<const T>(a, 1);
    T* to = pointer<T>(a, 2);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        to[i] = x[i] * y[i];
    }
}
extern "C" __global__ void multiply(arguments a) { multiply_of<float>(a); }
extern "C" __global__ void multiply_bf16(arguments a) { multiply_of<bf16>(a); }

/// x * P(X <= x) of a standard normal X. at: x, to. n: count.
template <class T>
__device__ void gelu_forward_of(const arguments& a) {
    const T* x = pointer<const T>(a, 0);
    T* to = pointer<T>(a, 1);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        to[i] = x[i] * 0.5f * erfcf(-x[i] * 0.70710678118654752440f);
    }
}
extern "C" __global__ void gelu_forward(arguments a) { gelu_forward_of<float>(a); }
extern "C" __global__ void gelu_forward_bf16(arguments a) { gelu_forward_of<bf16>(a); }

/// at: x, dy, to. n: count.
template <class T>
__device__ void gelu_backward_of(const arguments& a) {
    const T* x = pointer<const T>(a, 0);
    const T* dy = pointer<const T>(a, 1);
    T* to = pointer<T>(a, 2);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        const float p = 0.5f * erfcf(-x[i] * 0.70710678118654752440f);
        to[i] = dy[i] * (p + x[i] * expf(-x[i] * x[i] / 2) * 0.39894228040143267794f);
    }
}
extern "C" __global__ void gelu_backward(arguments a) { gelu_backward_of<float>(a); }
extern "C" __global__ void gelu_backward_bf16(arguments a) { gelu_backward_of<bf16>(a); }

/// The mixing function of SplitMix64, as in op/mask.hpp.
__device__ inline unsigned long long mix(unsigned long long z) {
    z += 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
}

/// Dropout of values or of gradients, by the global index. at: from, to, step. n: 5 extents of the tile, 5 global origins, 5 steps
/// of the mask's index, operator, per cent. f: factor of what is kept.
template <class T>
__device__ void dropout_of(const arguments& a) {
    const T* from = pointer<const T>(a, 0);
    T* to = pointer<T>(a, 1);
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
extern "C" __global__ void dropout(arguments a) { dropout_of<float>(a); }
extern "C" __global__ void dropout_bf16(arguments a) { dropout_of<bf16>(a); }

/// The gradient of a global average: every element of a plane gets the plane's number. at: dy, dx. n: count, plane. f: factor.
template <class T>
__device__ void spread_of(const arguments& a) {
    const T* dy = pointer<const T>(a, 0);
    T* dx = pointer<T>(a, 1);
    const float scale = static_cast<float>(a.f[0]);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        dx[i] = dy[i / a.n[1]] * scale;
    }
}
extern "C" __global__ void spread(arguments a) { spread_of<float>(a); }
extern "C" __global__ void spread_bf16(arguments a) { spread_of<bf16>(a); }

)
// clang-format on
