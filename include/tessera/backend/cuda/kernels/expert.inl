// SPDX-License-Identifier: Apache-2.0
// Slots of experts for tokens (op/expert.hpp): a block for each sample, a thread for each expert, which gives out its own slots.
// n of both: tokens and experts of the sample, slots of an expert, choices of a token; first and count of the shard's tokens; the same
// of its experts; 1 where gates are written instead of ones.
// clang-format off
TESSERA_DEVICE_CODE(

/// How many experts come before expert e for a token.
template <class T>
__device__ long long experts_before(const T* gates, long long experts, long long e) {
    const float own = gates[e];
    long long before = 0;
    for (long long other = 0; other < experts; ++other) {
        const float gate = gates[other];
        before += gate > own || (gate == own && other < e) ? 1 : 0;
    }
    return before;
}

/// at: gates[samples, tokens, experts], y[samples, tokens of the shard, experts of the shard * slots].
template <class T>
__device__ void route_forward_of(const arguments& a) {
    const T* gates = pointer<const T>(a, 0) + blockIdx.x * a.n[0] * a.n[1];
    const long long row = a.n[7] * a.n[2];
    T* y = pointer<T>(a, 1) + blockIdx.x * a.n[5] * row;
    for (long long k = threadIdx.x; k < a.n[7]; k += blockDim.x) {
        for (long long t = 0; t < a.n[5]; ++t) {
            for (long long slot = 0; slot < a.n[2]; ++slot) {
                y[t * row + k * a.n[2] + slot] = 0.0f;
            }
        }
        const long long e = a.n[6] + k;
        long long taken = 0;
        for (long long choice = 0; choice < a.n[3] && taken < a.n[2]; ++choice) {
            for (long long t = 0; t < a.n[0] && taken < a.n[2]; ++t) {
                if (experts_before(gates + t * a.n[1], a.n[1], e) != choice) {
                    continue;
                }
                const long long own = t - a.n[4];
                if (own >= 0 && own < a.n[5]) {
                    y[own * row + k * a.n[2] + taken] = a.n[8] == 1 ? static_cast<float>(gates[t * a.n[1] + e]) : 1.0f;
                }
                ++taken;
            }
        }
    }
}
extern "C" __global__ void route_forward(arguments a) { route_forward_of<float>(a); }
extern "C" __global__ void route_forward_bf16(arguments a) { route_forward_of<bf16>(a); }

/// at: gates, dy, dx[samples, tokens, experts].
template <class T>
__device__ void route_gradient_of(const arguments& a) {
    const T* gates = pointer<const T>(a, 0) + blockIdx.x * a.n[0] * a.n[1];
    const long long row = a.n[7] * a.n[2];
    const T* dy = pointer<const T>(a, 1) + blockIdx.x * a.n[5] * row;
    T* dx = pointer<T>(a, 2) + blockIdx.x * a.n[0] * a.n[1];
    for (long long e = threadIdx.x; e < a.n[1]; e += blockDim.x) {
        for (long long t = 0; t < a.n[0]; ++t) {
            dx[t * a.n[1] + e] = 0.0f;
        }
        const long long k = e - a.n[6];
        if (k < 0 || k >= a.n[7]) {
            continue;
        }
        long long taken = 0;
        for (long long choice = 0; choice < a.n[3] && taken < a.n[2]; ++choice) {
            for (long long t = 0; t < a.n[0] && taken < a.n[2]; ++t) {
                if (experts_before(gates + t * a.n[1], a.n[1], e) != choice) {
                    continue;
                }
                const long long own = t - a.n[4];
                if (own >= 0 && own < a.n[5]) {
                    dx[t * a.n[1] + e] = dy[own * row + k * a.n[2] + taken];
                }
                ++taken;
            }
        }
    }
}
extern "C" __global__ void route_gradient(arguments a) { route_gradient_of<float>(a); }
extern "C" __global__ void route_gradient_bf16(arguments a) { route_gradient_of<bf16>(a); }

)
// clang-format on
