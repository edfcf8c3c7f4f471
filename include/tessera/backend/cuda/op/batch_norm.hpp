// SPDX-License-Identifier: Apache-2.0
// Batch norm. One that no split divides is cuDNN's; nest by nest, a split leaves partial results between the nests, for
// which no vendor call exists.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/calls/numbers.hpp"
#include "tessera/backend/cuda/kernels/channels.hpp"
#include "tessera/op/batch_norm.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel normalize{"normalize", true};
inline constexpr kernel normalize_gradient{"normalize_gradient", true};
inline constexpr kernel running_statistics{"running_statistics"};
inline constexpr kernel running_moments{"running_moments"};

// clang-format off
TESSERA_KERNELS(batch_norm_code,

struct normalize_numbers {
    index_t count = 0;
    index_t channels = 0;
    index_t plane = 0;
    index_t wanted = 0; ///< of the sums that come before; not read
};
struct running_numbers {
    index_t channels = 0;
    index_t unused[4] = {};
    index_t has_flag = 0; ///< with the count of losses that are not finite
};
struct running_reals {
    double count = 0; ///< elements of a channel
    double momentum = 0;
    double epsilon = 0; ///< in the moments that cuDNN saves
};
,

/// at: x, statistics, gamma, beta, y.
template <class T>
__device__ void normalize_of(const given<normalize_numbers, norm_reals>& a) {
    const T* x = pointer<const T>(a, 0);
    for (long long i = first_index(); i < a.n.count; i += index_step()) {
        const long long c = i / a.n.plane % a.n.channels;
        const normalizer n = normalizer_of(a.at[1], c, a.n.channels, a.f.count, a.f.epsilon);
        const double normal = (x[i] - n.mean) * n.inverse;
        pointer<T>(a, 4)[i] =
            static_cast<float>(pointer<const float>(a, 2)[c] * normal + pointer<const float>(a, 3)[c]);
    }
}
TYPED_KERNEL(normalize, normalize_numbers, norm_reals)

/// dx = gamma / sigma * (dy - (sum of dy + normalized x * sum of dy * normalized x) / count).
/// at: dy, x, gamma, statistics, sums, dx.
template <class T>
__device__ void normalize_gradient_of(const given<normalize_numbers, norm_reals>& a) {
    const T* dy = pointer<const T>(a, 0);
    const T* x = pointer<const T>(a, 1);
    const double* sums = pointer<const double>(a, 4);
    for (long long i = first_index(); i < a.n.count; i += index_step()) {
        const long long c = i / a.n.plane % a.n.channels;
        const normalizer n = normalizer_of(a.at[3], c, a.n.channels, a.f.count, a.f.epsilon);
        const double normal = (x[i] - n.mean) * n.inverse;
        pointer<T>(a, 5)[i] = static_cast<float>(pointer<const float>(a, 2)[c] * n.inverse *
                                                     (dy[i] - (sums[c] + normal * sums[a.n.channels + c]) / a.f.count));
    }
}
TYPED_KERNEL(normalize_gradient, normalize_numbers, norm_reals)

/// Running statistics of a channel, which stay as they are where they would not be finite.
__device__ inline void update_running(float* running, long long channels, long long c, double momentum, double mean, double variance) {
    const float first = static_cast<float>((1 - momentum) * running[c] + momentum * mean);
    const float second = static_cast<float>((1 - momentum) * running[channels + c] + momentum * variance);
    if ((first - first) + (second - second) == 0) {
        running[c] = first;
        running[channels + c] = second;
    }
}

/// at: sums[2, channels], running[2, channels], count of losses that are not finite.
KERNEL(running_statistics, running_numbers, running_reals) {
    const double* sums = pointer<const double>(a, 0);
    float* running = pointer<float>(a, 1);
    if (is_refused(a.n.has_flag, a.at + 2)) {
        return;
    }
    for (long long c = first_index(); c < a.n.channels; c += index_step()) {
        const double mean = sums[c] / a.f.count;
        const double biased = sums[a.n.channels + c] / a.f.count - mean * mean;
        const double variance = (biased < 0 ? 0 : biased) * (a.f.count > 1 ? a.f.count / (a.f.count - 1) : 1);
        update_running(running, a.n.channels, c, a.f.momentum, mean, variance);
    }
}

/// The same from mean and 1 / sqrt(variance + epsilon), as cuDNN saves them. at: saved[2, channels], running[2,
/// channels], and the count.
KERNEL(running_moments, running_numbers, running_reals) {
    const float* saved = pointer<const float>(a, 0);
    float* running = pointer<float>(a, 1);
    if (is_refused(a.n.has_flag, a.at + 2)) {
        return;
    }
    for (long long c = first_index(); c < a.n.channels; c += index_step()) {
        const double inverse = saved[a.n.channels + c];
        const double biased = 1 / (inverse * inverse) - a.f.epsilon;
        const double variance = (biased < 0 ? 0 : biased) * (a.f.count > 1 ? a.f.count / (a.f.count - 1) : 1);
        update_running(running, a.n.channels, c, a.f.momentum, saved[c], variance);
    }
}

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

/// Elements per channel of what a pass takes its statistics over: the batch, the micro-batch that it works on, or its
/// shard's samples.
double channel_count(const shard_call& s);

/// cuDNN's batch norm of a whole shard, its extents and type.
normalization whole_norm(const shard_call& s, normalization::direction way);

void whole_norm_forward(const shard_call& s);

/// Always all three gradients: those of parameters that are frozen go to scratch memory.
void whole_norm_backward(const shard_call& s);

/// After the sums that `n` was for.
kernels::normalize_numbers normalize_numbers_of(const shard_call& s, const kernels::channel_numbers& n);

void norm_forward(const shard_call& s);

void norm_backward(const shard_call& s);

/// Running statistics follow those of the batch, which are the sum of its micro-batches' there, or those of the first
/// shard of samples.
void norm_update(const shard_call& s);

inline bool norm_is_one_call(const op_attributes&) { return true; }

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row batch_norm_row{
    .of = &op::batch_norm_record,
    .forward = detail::norm_forward,
    .backward = detail::norm_backward,
    .update = detail::norm_update,
    .calls_forward = "cudnnBatchNormalizationForwardTraining kernel:running_moments",
    .calls_backward = "cudnnBatchNormalizationBackward",
    .why = "the running statistics are a task of their own, which every copy of them runs; a split's partial "
           "statistics have "
           "no vendor call",
    .code = kernels::batch_norm_code,
    .is_one_call = detail::norm_is_one_call,
    .keeps_intermediates = true, // statistics for backward and the running ones
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/batch_norm.inl"
#endif

#include "tessera/base/end_header.inl"
