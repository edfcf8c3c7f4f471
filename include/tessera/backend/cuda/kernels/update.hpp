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
TESSERA_KERNELS(update_code,

struct sum_numbers {
    index_t count = 0; ///< elements of one
    index_t sources = 0;
};
struct squares_numbers {
    index_t count = 0;
    index_t first = 0; ///< index of the first element in the region
    index_t boxes = 0; ///< that others count
};
struct loss_numbers {
    index_t count = 0;
    index_t adds = 0; ///< 1 where there are losses that were counted before
};
/// Of an optimizer's step.
struct step_numbers {
    index_t count = 0;
    index_t sources = 0;
    index_t targets = 0;
    index_t norms = 0;
    index_t has_states = 0;
    index_t has_flag = 0;     ///< with the count of losses that are not finite
    index_t variant = 0;      ///< 1: Nesterov, centered
    index_t decoupled = 0;    ///< decay
    index_t has_momentum = 0; ///< RMSProp's
    index_t parts = 0;        ///< of the parameter, whose squares scale its steps
    index_t trust = 0;        ///< 1 where LARS' ratio scales the steps, 2 where LAMB's does
    index_t prunes = 0;       ///< pruned weights stay as they are
};
/// The same of the squares that scale a step.
struct layer_squares_numbers {
    index_t count = 0;
    index_t sources = 0;
    index_t boxes = 0; ///< that others count
    index_t norms = 0;
    index_t has_states = 0;
    index_t first = 0; ///< index of the first element in the region
    index_t variant = 0;
    index_t decoupled = 0;
    index_t has_momentum = 0;
    index_t parts = 0;
    index_t trust = 0;
    index_t prunes = 0;
};
struct step_reals {
    double momentum = 0;
    double weight_decay = 0;
    double beta1 = 0;
    double beta2 = 0;
    double epsilon = 0;
    double clip_norm = 0; ///< the largest norm; 0: any
    double loss_scale = 0;
    double rate_factor = 0;
    double clip_value = 0; ///< the largest gradient
    double average = 0;    ///< what averages of the weights, behind the states, keep of themselves; 0: there are none
    double trust_coefficient = 0;
    double trust_decay = 0;
    double trust_epsilon = 0;
};
,

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
__device__ void sum_slices_of(const given<sum_numbers>& a) {
    for (long long i = first_index(); i < a.n.count; i += index_step()) {
        pointer<T>(a, 0)[i] = sum_of(pointer<T*>(a, 1), a.n.sources, i);
    }
}
/// at: to, which may be the first source; table of sources.
TYPED_KERNEL(sum_slices, sum_numbers)
KERNEL(sum_slices_f64, sum_numbers) { sum_slices_of<double>(a); }

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
/// origin of the region (5 + 5), then the boxes that others count, each begin and end of 5 dimensions.
KERNEL(squares_partial, squares_numbers) {
    __shared__ double shared[256];
    const float* x = pointer<const float>(a, 0);
    const long long* constants = pointer<const long long>(a, 2);
    double sum = 0;
    for (long long i = first_index(); i < a.n.count; i += index_step()) {
        sum += is_counted(constants, a.n.boxes, a.n.first + i) ? 0.0 : static_cast<double>(x[i]) * x[i];
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        pointer<double>(a, 1)[blockIdx.x] = sum;
    }
}

/// A block for each number that is made. at: sums, of each number in turn, to.
KERNEL(squares_total, count_numbers) {
    __shared__ double shared[256];
    const double* sums = pointer<const double>(a, 0) + blockIdx.x * a.n.count;
    double sum = 0;
    for (long long i = threadIdx.x; i < a.n.count; i += blockDim.x) {
        sum += sums[i];
    }
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) {
        pointer<double>(a, 1)[blockIdx.x] = sum;
    }
}

/// One block. How many losses are not finite, besides those that were counted before. at: losses, count.
KERNEL(count_not_finite, loss_numbers) {
    __shared__ double shared[256];
    double count = 0;
    for (long long i = threadIdx.x; i < a.n.count; i += blockDim.x) {
        const float x = pointer<const float>(a, 0)[i];
        count += x - x == 0 ? 0.0 : 1.0;
    }
    count = block_sum(count, shared);
    if (threadIdx.x == 0) {
        float* total = pointer<float>(a, 1);
        *total = static_cast<float>((a.n.adds == 1 ? *total : 0.0f) + count);
    }
}

/// Factor of all gradients, which are those of the scaled loss: one by its scale, or less to keep their norm at most
/// clip_norm. NaN where the norm is not finite, so that no element of any parameter changes.
template <class Arguments>
__device__ inline float clip_factor(const Arguments& a, void* const* norms) {
    if (a.n.norms == 0) {
        return static_cast<float>(1 / a.f.loss_scale);
    }
    double squares = 0;
    for (long long k = 0; k < a.n.norms; ++k) {
        squares += *static_cast<const double*>(norms[k]);
    }
    if (squares - squares != 0) {
        return 0.0f / 0.0f;
    }
    const double factor = a.f.clip_norm / (sqrt(squares) / a.f.loss_scale + 1e-6);
    return static_cast<float>((a.f.clip_norm > 0 && factor < 1 ? factor : 1.0) / a.f.loss_scale);
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

template <class Arguments>
__device__ inline update_settings settings_of(const Arguments& a) {
    return {a.f.momentum, a.f.weight_decay, a.f.beta1, a.f.beta2, a.f.epsilon, a.f.rate_factor, a.f.clip_value,
            a.f.average, a.f.trust_coefficient, a.f.trust_decay, a.f.trust_epsilon, a.n.decoupled == 1,
            a.n.prunes == 1};
}
/// The ratio of norms, NaN where one is not finite.
__device__ inline double ratio_of(const given<step_numbers, step_reals>& a, void* const* parts) {
    double weights = 0;
    double measured = 0;
    for (long long k = 0; k < a.n.parts; ++k) {
        weights += static_cast<const double*>(parts[k])[0];
        measured += static_cast<const double*>(parts[k])[1];
    }
    const double sum = weights + measured;
    return a.n.parts == 0 ? 1.0 : sum - sum != 0 ? sum - sum : trust_of(settings_of(a), weights, measured);
}

/// An optimizer's step in every copy. An element whose new weight or state would not be finite keeps both as they are.
/// at: states, of every one in turn those of all weights; table of sources, targets, norms, the squares of the parts
/// that scale the steps, count of losses that are not finite: where there are any, nothing changes; step.
template <class Formula>
__device__ void update_by(const given<step_numbers, step_reals>& a) {
    void* const* table = pointer<void*>(a, 1);
    float* const* sources = pointer<float*>(a, 1);
    float* const* targets = sources + a.n.sources;
    const double trust = ratio_of(a, table + a.n.sources + a.n.targets + a.n.norms);
    if (is_refused(a.n.has_flag, table + a.n.sources + a.n.targets + a.n.norms + a.n.parts) || trust - trust != 0) {
        return;
    }
    const float factor = clip_factor(a, table + a.n.sources + a.n.targets);
    const step_values* now = pointer<const step_values>(a, 2);
    update_numbers<float> n = numbers_of<float>(settings_of(a), now->learning_rate * (a.n.trust == 2 ? trust : 1.0),
                                                now->correction1, now->correction2);
    n.trust = static_cast<float>(trust);
    float* states = pointer<float>(a, 0);
    for (long long i = first_index(); i < a.n.count; i += index_step()) {
        const float w = targets[0][i];
        if (a.n.prunes == 1 && is_pruned(w)) {
            continue;
        }
        float g = sum_of(sources, a.n.sources, i) * factor;
        if (n.limit > 0) {
            g = between(g, -n.limit, n.limit);
        }
        float s[Formula::states + 1];
        for (int k = 0; k < Formula::states; ++k) {
            s[k] = states[k * a.n.count + i];
        }
        float result = Formula::step(w, g, s, n);
        if (a.n.prunes == 1) {
            result += 0.0f;
        }
        float differences = result - result;
        for (int k = 0; k < Formula::states; ++k) {
            differences += s[k] - s[k];
        }
        const bool finite = differences == 0;
        if (a.f.average != 0) {
            float& average = states[Formula::states * a.n.count + i];
            average += n.fading * ((finite ? result : w) - average);
        }
        if (!finite) {
            continue;
        }
        for (int k = 0; k < Formula::states; ++k) {
            states[k * a.n.count + i] = s[k];
        }
        for (long long k = 0; k < a.n.targets; ++k) {
            targets[k][i] = result;
        }
    }
}

/// Squares of weights and of what scales the steps: a sum of each for every block, all of the weights first. at:
/// states; table of sources, weights, norms, sums; constants of squares_partial; step.
template <class Formula, int Kept>
__device__ void squares_by(const given<layer_squares_numbers, step_reals>& a) {
    __shared__ double shared[256];
    void* const* table = pointer<void*>(a, 1);
    float* const* sources = pointer<float*>(a, 1);
    const float* weights = sources[a.n.sources];
    double* sums = static_cast<double*>(table[a.n.sources + 1 + a.n.norms]);
    const long long* constants = pointer<const long long>(a, 2);
    const float factor = clip_factor(a, table + a.n.sources + 1);
    const step_values* now = pointer<const step_values>(a, 3);
    const update_numbers<float> n =
        numbers_of<float>(settings_of(a), now->learning_rate, now->correction1, now->correction2);
    const float* states = pointer<const float>(a, 0);
    double of_weights = 0;
    double measured = 0;
    for (long long i = first_index(); i < a.n.count; i += index_step()) {
        if (is_counted(constants, a.n.boxes, a.n.first + i)) {
            continue;
        }
        const float w = weights[i];
        if (a.n.prunes == 1 && is_pruned(w)) {
            continue;
        }
        float g = sum_of(sources, a.n.sources, i) * factor;
        if (n.limit > 0) {
            g = between(g, -n.limit, n.limit);
        }
        float s[Kept + 1];
        for (int k = 0; k < Kept; ++k) {
            s[k] = states[k * a.n.count + i];
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

KERNEL(layer_squares, layer_squares_numbers, step_reals) {
    if (a.n.trust == 2) {
        squares_by<adam_formula<true>, 2>(a);
    } else {
        squares_by<sgd_formula<false, false, true>, 0>(a);
    }
}
KERNEL(sgd_update, step_numbers, step_reals) {
    if (a.n.trust == 1 && a.n.has_states == 0) {
        update_by<sgd_formula<false, false, true>>(a);
    } else if (a.n.trust == 1 && a.n.variant == 0) {
        update_by<sgd_formula<true, false, true>>(a);
    } else if (a.n.trust == 1) {
        update_by<sgd_formula<true, true, true>>(a);
    } else if (a.n.has_states == 0) {
        update_by<sgd_formula<false, false>>(a);
    } else if (a.n.variant == 0) {
        update_by<sgd_formula<true, false>>(a);
    } else {
        update_by<sgd_formula<true, true>>(a);
    }
}
KERNEL(adam_update, step_numbers, step_reals) {
    if (a.n.decoupled == 0) {
        update_by<adam_formula<false>>(a);
    } else {
        update_by<adam_formula<true>>(a);
    }
}
KERNEL(rmsprop_update, step_numbers, step_reals) {
    if (a.n.has_momentum == 0 && a.n.variant == 0) {
        update_by<rmsprop_formula<false, false>>(a);
    } else if (a.n.variant == 0) {
        update_by<rmsprop_formula<false, true>>(a);
    } else if (a.n.has_momentum == 0) {
        update_by<rmsprop_formula<true, false>>(a);
    } else {
        update_by<rmsprop_formula<true, true>>(a);
    }
}

)
// clang-format on

} // namespace tessera::cuda::kernels

#include "tessera/base/end_header.inl"
