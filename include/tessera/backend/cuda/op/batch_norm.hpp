// SPDX-License-Identifier: Apache-2.0
// Batch norm. One that no split divides is cuDNN's; nest by nest, a split leaves partial results between the nests, for which no vendor call
// exists.
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
TESSERA_DEVICE_CODE(batch_norm_code,

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
TYPED_KERNEL(normalize)

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
TYPED_KERNEL(normalize_gradient)

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
KERNEL(running_statistics) {
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
KERNEL(running_moments) {
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

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

/// Elements per channel of what a pass takes its statistics over: the batch, the micro-batch that it works on, or its shard's samples.
inline double channel_count(const shard_call& s) {
    const shape& x = s.d.operands[s.input()].extents;
    const index_t values_per_channel = x.volume() / x[0] / x[1] * s.call.samples;
    return static_cast<double>(values_per_channel);
}

/// cuDNN's batch norm of a whole shard, its extents and type.
inline normalization whole_norm(const shard_call& s, normalization::direction way) {
    normalization n;
    n.way = way;
    const kernel_numbers e = channel_numbers(s, s.input());
    n.x[0] = to_int(e.n[0]);
    n.x[1] = to_int(e.n[1]);
    n.x[2] = to_int(e.n[2]);
    n.x[3] = 1;
    n.epsilon = s.attributes().as<op::batch_norm_attributes>().epsilon;
    n.type = s.type();
    return n;
}

inline void whole_norm_forward(const shard_call& s) {
    const bool running = s.call.what == pass::evaluate;
    const memory_use x = s.value(s.input());
    const memory_use gamma = s.value(s.parameter(0));
    const memory_use beta = s.value(s.parameter(1));
    if (running) {
        s.to.add(whole_norm(s, normalization::direction::inference),
                 {x, gamma, beta, s.value(s.d.find_operand(operand_kind::state, 2)), s.value_to(s.output())});
    } else {
        s.to.add(whole_norm(s, normalization::direction::training),
                 {x, gamma, beta, s.value_to(s.output()), s.value_to(s.intermediate(0))});
    }
}

/// Always all three gradients: those of parameters that are frozen go to scratch memory.
inline void whole_norm_backward(const shard_call& s) {
    const auto to = [&](int slot) {
        const int o = s.parameter(slot);
        return s.emits(o) ? s.gradient_to(o) : s.to.take(s.volume(o) * bytes_of(element::f32));
    };
    const memory_use dgamma = to(0);
    s.to.add(whole_norm(s, normalization::direction::backward),
             {s.value(s.input()), s.gradient(s.output()), s.value(s.parameter(0)), s.value(s.intermediate(0)),
              s.gradient_to(s.input()), dgamma, to(1)});
}

inline void norm_forward(const shard_call& s) {
    if (s.to.what().implementation == whole_operator) {
        return whole_norm_forward(s);
    }
    kernel_numbers n = channel_numbers(s, s.input());
    const bool running = s.call.what == pass::evaluate;
    const int statistics = running ? s.d.find_operand(operand_kind::state, 2) : s.intermediate(0);
    if (s.call.first_nest == 0 && !running) {
        n.n[3] = 1;
        s.to.launch_channels(kernels::channel_statistics, {s.value(s.input())}, {s.value_to(statistics)}, n);
    }
    if (s.call.last_nest == 1) {
        n.n[0] = s.volume(s.input());
        n.f[0] = running ? 0 : channel_count(s);
        n.f[1] = s.attributes().as<op::batch_norm_attributes>().epsilon;
        s.to.launch(kernels::normalize,
                    {s.value(s.input()), s.value(statistics), s.value(s.parameter(0)), s.value(s.parameter(1)),
                     s.value_to(s.output())},
                    n, n.n[0]);
    }
}

inline void norm_backward(const shard_call& s) {
    if (s.to.what().implementation == whole_operator) {
        return whole_norm_backward(s);
    }
    const memory_use dy = s.gradient(s.output());
    kernel_numbers n = channel_numbers(s, s.input());
    n.f[0] = channel_count(s);
    n.f[1] = s.attributes().as<op::batch_norm_attributes>().epsilon;
    const int statistics = s.intermediate(0);
    const int emitted[] = {statistics, s.parameter(0), s.parameter(1)};
    std::vector<memory_use> targets(
        3, dy); // dy stands in for what is not wanted, and for what sums of dy alone do not need
    for (int k = 0; k < 3; ++k) {
        if (s.emits(emitted[k])) {
            n.n[3] += 1 << k;
            targets[static_cast<std::size_t>(k)] = s.gradient_to(emitted[k]);
        }
    }
    if (n.n[3] != 0) {
        const bool needs_x = n.n[3] != 4;
        s.to.launch_channels(kernels::statistics_gradient,
                             {dy, needs_x ? s.value(s.input()) : dy, needs_x ? s.value(statistics) : dy}, targets, n);
    }
    if (s.emits(s.input())) {
        n.n[0] = s.volume(s.input());
        s.to.launch(kernels::normalize_gradient,
                    {dy, s.value(s.input()), s.value(s.parameter(0)), s.value(statistics), s.gradient(statistics),
                     s.gradient_to(s.input())},
                    n, n.n[0]);
    }
}

/// Running statistics follow those of the batch, which are the sum of its micro-batches' there, or those of the first shard of samples.
inline void norm_update(const shard_call& s) {
    const int running = s.d.find_operand(operand_kind::state, 2);
    kernel_numbers n;
    n.n[0] = s.size(running, 1);
    n.f[0] = channel_count(s);
    n.f[1] = momentum_of(s.attributes());
    n.f[2] = s.attributes().as<op::batch_norm_attributes>().epsilon;
    const bool whole = s.to.what().implementation == whole_operator;
    std::vector<memory_use> memory{s.value(s.intermediate(0)), s.value_to(running)};
    if (const int flag = s.to.what().flag; flag >= 0) {
        memory.push_back(s.to.read(flag));
        n.n[5] = 1;
    }
    s.to.launch(whole ? kernels::running_moments : kernels::running_statistics,
                static_cast<std::vector<memory_use>&&>(memory), n, n.n[0]);
}

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

#include "tessera/base/end_header.inl"
