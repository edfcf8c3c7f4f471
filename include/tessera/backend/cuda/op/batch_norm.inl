// SPDX-License-Identifier: Apache-2.0
// Bodies of batch_norm.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/batch_norm.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE double channel_count(const shard_call& s) {
    const shape& x = s.d.operands[s.input()].extents;
    const index_t values_per_channel = x.volume() / x[0] / x[1] * s.call.samples;
    return static_cast<double>(values_per_channel);
}

TESSERA_INLINE normalization whole_norm(const shard_call& s, normalization::direction way) {
    normalization n;
    n.way = way;
    const kernels::channel_numbers e = channel_numbers_of(s, s.input());
    n.x[0] = to_int(e.samples);
    n.x[1] = to_int(e.channels);
    n.x[2] = to_int(e.plane);
    n.x[3] = 1;
    n.epsilon = s.attributes().as<op::batch_norm_attributes>().epsilon;
    n.type = s.type();
    return n;
}

TESSERA_INLINE void whole_norm_forward(const shard_call& s) {
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

TESSERA_INLINE void whole_norm_backward(const shard_call& s) {
    const auto to = [&](int slot) {
        const int o = s.parameter(slot);
        return s.emits(o) ? s.gradient_to(o) : s.to.take(s.volume(o) * bytes_of(element::f32));
    };
    const memory_use dgamma = to(0);
    s.to.add(whole_norm(s, normalization::direction::backward),
             {s.value(s.input()), s.gradient(s.output()), s.value(s.parameter(0)), s.value(s.intermediate(0)),
              s.gradient_to(s.input()), dgamma, to(1)});
}

TESSERA_INLINE kernels::normalize_numbers normalize_numbers_of(const shard_call& s, const kernels::channel_numbers& n) {
    return {.count = s.volume(s.input()), .channels = n.channels, .plane = n.plane, .wanted = n.wanted};
}

TESSERA_INLINE void norm_forward(const shard_call& s) {
    if (s.to.what().compute().implementation == whole_operator) {
        return whole_norm_forward(s);
    }
    kernels::channel_numbers n = channel_numbers_of(s, s.input());
    const bool running = s.call.what == pass::evaluate;
    const int statistics = running ? s.d.find_operand(operand_kind::state, 2) : s.intermediate(0);
    if (s.call.first_nest == 0 && !running) {
        n.wanted = 1;
        s.to.launch_channels(kernels::channel_statistics, {s.value(s.input())}, {s.value_to(statistics)}, n);
    }
    if (s.call.last_nest == 1) {
        const kernels::norm_reals reals{.count = running ? 0 : channel_count(s),
                                        .epsilon = s.attributes().as<op::batch_norm_attributes>().epsilon};
        s.to.launch(kernels::normalize,
                    {s.value(s.input()), s.value(statistics), s.value(s.parameter(0)), s.value(s.parameter(1)),
                     s.value_to(s.output())},
                    kernel_numbers(normalize_numbers_of(s, n), reals), s.volume(s.input()));
    }
}

TESSERA_INLINE void norm_backward(const shard_call& s) {
    if (s.to.what().compute().implementation == whole_operator) {
        return whole_norm_backward(s);
    }
    const memory_use dy = s.gradient(s.output());
    kernels::channel_numbers n = channel_numbers_of(s, s.input());
    const kernels::norm_reals reals{.count = channel_count(s),
                                    .epsilon = s.attributes().as<op::batch_norm_attributes>().epsilon};
    const int statistics = s.intermediate(0);
    const int emitted[] = {statistics, s.parameter(0), s.parameter(1)};
    std::vector<memory_use> targets(
        3, dy); // dy stands in for what is not wanted, and for what sums of dy alone do not need
    for (int k = 0; k < 3; ++k) {
        if (s.emits(emitted[k])) {
            n.wanted += 1 << k;
            targets[to_size(k)] = s.gradient_to(emitted[k]);
        }
    }
    if (n.wanted != 0) {
        const bool needs_x = n.wanted != 4;
        s.to.launch_channels(kernels::statistics_gradient,
                             {dy, needs_x ? s.value(s.input()) : dy, needs_x ? s.value(statistics) : dy}, targets, n,
                             reals);
    }
    if (s.emits(s.input())) {
        s.to.launch(kernels::normalize_gradient,
                    {dy, s.value(s.input()), s.value(s.parameter(0)), s.value(statistics), s.gradient(statistics),
                     s.gradient_to(s.input())},
                    kernel_numbers(normalize_numbers_of(s, n), reals), s.volume(s.input()));
    }
}

TESSERA_INLINE void norm_update(const shard_call& s) {
    const int running = s.d.find_operand(operand_kind::state, 2);
    kernels::running_numbers n{.channels = s.size(running, 1)};
    const kernels::running_reals reals{.count = channel_count(s),
                                       .momentum = momentum_of(s.attributes()),
                                       .epsilon = s.attributes().as<op::batch_norm_attributes>().epsilon};
    const bool whole = s.to.what().compute().implementation == whole_operator;
    std::vector<memory_use> memory{s.value(s.intermediate(0)), s.value_to(running)};
    if (const int flag = s.to.what().nonfinite_count; flag >= 0) {
        memory.push_back(s.to.read(flag));
        n.has_flag = 1;
    }
    s.to.launch(whole ? kernels::running_moments : kernels::running_statistics, std::move(memory),
                kernel_numbers(n, reals), n.channels);
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
