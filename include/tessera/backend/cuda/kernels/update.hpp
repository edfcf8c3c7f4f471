// SPDX-License-Identifier: Apache-2.0
// Sums of gradients, their norm, and the optimizers' steps. A table is an array of addresses in device memory.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/common.hpp"
#include "tessera/op/update_formulas.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel sum_slices{"sum_slices", true};
inline constexpr kernel sum_slices_f64{"sum_slices_f64"};
inline constexpr kernel squares_partial{"squares_partial"};
inline constexpr kernel squares_total{"squares_total"};
inline constexpr kernel layer_squares{"layer_squares"};
inline constexpr kernel count_not_finite{"count_not_finite"};
inline constexpr kernel sgd_update{"sgd_update"};
inline constexpr kernel adam_update{"adam_update"};
inline constexpr kernel rmsprop_update{"rmsprop_update"};

// clang-format off
TESSERA_DEVICE_CODE(update_code,

/// What sums are of: float, but double of doubles.
template <class T>
struct summed {
    using type = float;
};
template <>
struct summed<double> {
    using type = double;
};

template <class T>
__device__ typename summed<T>::type sum_of(T* const* sources, long long count, long long i) {
    typename summed<T>::type total = sources[0][i];
    for (long long k = 1; k < count; ++k) {
        total += sources[k][i];
    }
    return total;
}

template <class T>
__device__ void sum_slices_of(const arguments& a) {
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        pointer<T>(a, 0)[i] = sum_of(pointer<T*>(a, 1), a.n[1], i);
    }
}
/// at: to, which may be the first source; table of sources. n: count, sources.
TYPED_KERNEL(sum_slices)
KERNEL(sum_slices_f64) { sum_slices_of<double>(a); }

/// Whether another task counts an element of a region: constants as squares_partial takes them.
__device__ inline bool is_counted(const long long* constants, long long boxes, long long index) {
    for (long long b = 0; b < boxes; ++b) {
        const long long* box = constants + 10 + b * 10;
        long long rest = index;
        bool inside_box = true;
        for (int d = 4; d >= 0; --d) {
            const long long at = constants[5 + d] + rest % constants[d];
            rest /= constants[d];
            inside_box = inside_box && at >= box[d] && at < box[5 + d];
        }
        if (inside_box) {
            return true;
        }
    }
    return false;
}

/// Squares of the elements that no other task counts: a sum for every block. at: x, sums, constants: the extents and
/// origin of the region (5 + 5), then the boxes that others count, each begin and end of 5 dimensions. n: count, index
/// of x[0] in the region, boxes.
KERNEL(squares_partial) {
    __shared__ double shared[256];
    const float* x = pointer<const float>(a, 0);
    const long long* constants = pointer<const long long>(a, 2);
    double sum = 0;
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        sum += is_counted(constants, a.n[2], a.n[1] + i) ? 0.0 : static_cast<double>(x[i]) * x[i];
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        pointer<double>(a, 1)[blockIdx.x] = sum;
    }
}

/// A block for each number that is made. at: sums, of each number in turn, to. n: count, of one number.
KERNEL(squares_total) {
    __shared__ double shared[256];
    const double* sums = pointer<const double>(a, 0) + blockIdx.x * a.n[0];
    double sum = 0;
    for (long long i = threadIdx.x; i < a.n[0]; i += blockDim.x) {
        sum += sums[i];
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        pointer<double>(a, 1)[blockIdx.x] = sum;
    }
}

/// One block. How many losses are not finite, besides those that were counted before. at: losses, count. n: losses, 1
/// where some were.
KERNEL(count_not_finite) {
    __shared__ double shared[256];
    double count = 0;
    for (long long i = threadIdx.x; i < a.n[0]; i += blockDim.x) {
        const float x = pointer<const float>(a, 0)[i];
        count += x - x == 0 ? 0.0 : 1.0;
    }
    count = block_sum(count, shared);
    if (threadIdx.x == 0) {
        float* total = pointer<float>(a, 1);
        *total = static_cast<float>((a.n[1] == 1 ? *total : 0.0f) + count);
    }
}

/// Factor of all gradients, which are those of f[6] times the loss: 1 / f[6], or less to keep their norm at most f[5].
/// NaN where the norm is not finite, so that no element of any parameter changes.
__device__ inline float clip_factor(const arguments& a, void* const* norms) {
    if (a.n[3] == 0) {
        return static_cast<float>(1 / a.f[6]);
    }
    double squares = 0;
    for (long long k = 0; k < a.n[3]; ++k) {
        squares += *static_cast<const double*>(norms[k]);
    }
    if (squares - squares != 0) {
        return 0.0f / 0.0f;
    }
    const double factor = a.f[5] / (sqrt(squares) / a.f[6] + 1e-6);
    return static_cast<float>((a.f[5] > 0 && factor < 1 ? factor : 1.0) / a.f[6]);
}

)

TESSERA_DEVICE_CODE(root_code,

__device__ inline float square_root(float x) {
    return sqrtf(x);
}
__device__ inline double square_root(double x) {
    return sqrt(x);
}

)

TESSERA_DEVICE_TEXT(formula_code, TESSERA_UPDATE_NUMBERS(inline) TESSERA_UPDATE_FORMULAS(inline))

TESSERA_DEVICE_CODE(step_code,

/// An optimizer's step in every copy. An element whose new weight or state would not be finite keeps both as they are.
/// at: states, of every one in turn those of all weights; table of sources, targets, norms, count of losses that are
/// not finite: where there are any, nothing changes; step. Behind the norms there are, of n[9] parts of the parameter,
/// the squares that scale its steps. n: count, sources, targets, norms, 1 with states, 1 with that count, 1 with the
/// variant (Nesterov, centered), 1 with decoupled decay, 1 with RMSProp's momentum, parts, 1 where LARS' ratio scales
/// the steps, 2 where LAMB's does, 1 where pruned weights stay as they are. f: momentum, weight decay, beta1, beta2,
/// epsilon, largest norm, loss scale, factor of the rate, largest gradient, what averages of the weights keep of
/// themselves, which lie behind the states; 0: there are none; the ratio's coefficient, decay and epsilon.
__device__ inline update_settings settings_of(const arguments& a) {
    return {a.f[0], a.f[1],  a.f[2],  a.f[3],  a.f[4],      a.f[7],
            a.f[8], a.f[9], a.f[10], a.f[11], a.f[12], a.n[7] == 1, a.n[11] == 1};
}
/// The ratio of norms, NaN where one is not finite.
__device__ inline double ratio_of(const arguments& a, void* const* parts) {
    double weights = 0;
    double measured = 0;
    for (long long k = 0; k < a.n[9]; ++k) {
        weights += static_cast<const double*>(parts[k])[0];
        measured += static_cast<const double*>(parts[k])[1];
    }
    const double sum = weights + measured;
    return a.n[9] == 0 ? 1.0 : sum - sum != 0 ? sum - sum : trust_of(settings_of(a), weights, measured);
}

template <class Formula>
__device__ void update_by(const arguments& a) {
    void* const* table = pointer<void*>(a, 1);
    float* const* sources = pointer<float*>(a, 1);
    float* const* targets = sources + a.n[1];
    const double trust = ratio_of(a, table + a.n[1] + a.n[2] + a.n[3]);
    if (is_refused(a, table + a.n[1] + a.n[2] + a.n[3] + a.n[9]) || trust - trust != 0) {
        return;
    }
    const float factor = clip_factor(a, table + a.n[1] + a.n[2]);
    const step_values* now = pointer<const step_values>(a, 2);
    update_numbers<float> n = numbers_of<float>(settings_of(a), now->learning_rate * (a.n[10] == 2 ? trust : 1.0),
                                                now->correction1, now->correction2);
    n.trust = static_cast<float>(trust);
    float* states = pointer<float>(a, 0);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        const float w = targets[0][i];
        if (a.n[11] == 1 && is_pruned(w)) {
            continue;
        }
        float g = sum_of(sources, a.n[1], i) * factor;
        if (n.limit > 0) {
            g = between(g, -n.limit, n.limit);
        }
        float s[Formula::states + 1];
        for (int k = 0; k < Formula::states; ++k) {
            s[k] = states[k * a.n[0] + i];
        }
        float result = Formula::step(w, g, s, n);
        if (a.n[11] == 1) {
            result += 0.0f;
        }
        float differences = result - result;
        for (int k = 0; k < Formula::states; ++k) {
            differences += s[k] - s[k];
        }
        const bool finite = differences == 0;
        if (a.f[9] != 0) {
            float& average = states[Formula::states * a.n[0] + i];
            average += n.fading * ((finite ? result : w) - average);
        }
        if (!finite) {
            continue;
        }
        for (int k = 0; k < Formula::states; ++k) {
            states[k * a.n[0] + i] = s[k];
        }
        for (long long k = 0; k < a.n[2]; ++k) {
            targets[k][i] = result;
        }
    }
}

/// Squares of weights and of what scales the steps: a sum of each for every block, all of the weights first. at:
/// states; table of sources, weights, norms, sums; constants of squares_partial; step. n and f as of updates, but n[2]:
/// boxes that others count, n[5]: index of the first element in the region.
template <class Formula, int Kept>
__device__ void squares_by(const arguments& a) {
    __shared__ double shared[256];
    void* const* table = pointer<void*>(a, 1);
    float* const* sources = pointer<float*>(a, 1);
    const float* weights = sources[a.n[1]];
    double* sums = static_cast<double*>(table[a.n[1] + 1 + a.n[3]]);
    const long long* constants = pointer<const long long>(a, 2);
    const float factor = clip_factor(a, table + a.n[1] + 1);
    const step_values* now = pointer<const step_values>(a, 3);
    const update_numbers<float> n =
        numbers_of<float>(settings_of(a), now->learning_rate, now->correction1, now->correction2);
    const float* states = pointer<const float>(a, 0);
    double of_weights = 0;
    double measured = 0;
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        if (is_counted(constants, a.n[2], a.n[5] + i)) {
            continue;
        }
        const float w = weights[i];
        if (a.n[11] == 1 && is_pruned(w)) {
            continue;
        }
        float g = sum_of(sources, a.n[1], i) * factor;
        if (n.limit > 0) {
            g = between(g, -n.limit, n.limit);
        }
        float s[Kept + 1];
        for (int k = 0; k < Kept; ++k) {
            s[k] = states[k * a.n[0] + i];
        }
        const float x = Formula::measured(w, g, s, n);
        of_weights += static_cast<double>(w) * w;
        measured += static_cast<double>(x) * x;
    }
    of_weights = block_sum(of_weights, shared);
    measured = block_sum(measured, shared);
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = of_weights;
        sums[gridDim.x + blockIdx.x] = measured;
    }
}

KERNEL(layer_squares) {
    if (a.n[10] == 2) {
        squares_by<adam_formula<true>, 2>(a);
    } else {
        squares_by<sgd_formula<false, false, true>, 0>(a);
    }
}
KERNEL(sgd_update) {
    if (a.n[10] == 1 && a.n[4] == 0) {
        update_by<sgd_formula<false, false, true>>(a);
    } else if (a.n[10] == 1 && a.n[6] == 0) {
        update_by<sgd_formula<true, false, true>>(a);
    } else if (a.n[10] == 1) {
        update_by<sgd_formula<true, true, true>>(a);
    } else if (a.n[4] == 0) {
        update_by<sgd_formula<false, false>>(a);
    } else if (a.n[6] == 0) {
        update_by<sgd_formula<true, false>>(a);
    } else {
        update_by<sgd_formula<true, true>>(a);
    }
}
KERNEL(adam_update) {
    if (a.n[7] == 0) {
        update_by<adam_formula<false>>(a);
    } else {
        update_by<adam_formula<true>>(a);
    }
}
KERNEL(rmsprop_update) {
    if (a.n[8] == 0 && a.n[6] == 0) {
        update_by<rmsprop_formula<false, false>>(a);
    } else if (a.n[6] == 0) {
        update_by<rmsprop_formula<false, true>>(a);
    } else if (a.n[8] == 0) {
        update_by<rmsprop_formula<true, false>>(a);
    } else {
        update_by<rmsprop_formula<true, true>>(a);
    }
}

)
// clang-format on

} // namespace tessera::cuda::kernels

#include "tessera/base/end_header.inl"
