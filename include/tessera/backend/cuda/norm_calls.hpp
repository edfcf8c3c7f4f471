// SPDX-License-Identifier: Apache-2.0
// Batch norm and softmax cross-entropy. A batch norm that no split divides is cuDNN's; nest by nest, a split of either leaves partial
// results between the nests, for which no vendor call exists. No legacy call computes a cross-entropy.
#pragma once

#include "tessera/backend/cuda/compose.hpp"
#include "tessera/backend/cuda/merge.hpp"

namespace tessera::cuda::detail {

/// Samples, channels and elements of a channel's plane of a tile.
inline kernel_numbers channel_numbers(const shard_call& s, int o) {
    kernel_numbers n;
    n.n[0] = s.size(o, 0);
    n.n[1] = s.size(o, 1);
    n.n[2] = s.volume(o) / (n.n[0] * n.n[1]);
    return n;
}

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
    n.epsilon = s.attributes().epsilon;
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
        s.to.launch_channels(kernel_id::channel_statistics, {s.value(s.input())}, {s.value_to(statistics)}, n);
    }
    if (s.call.last_nest == 1) {
        n.n[0] = s.volume(s.input());
        n.f[0] = running ? 0 : channel_count(s);
        n.f[1] = s.attributes().epsilon;
        s.to.launch(kernel_id::normalize,
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
    n.f[1] = s.attributes().epsilon;
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
        s.to.launch_channels(kernel_id::statistics_gradient,
                             {dy, needs_x ? s.value(s.input()) : dy, needs_x ? s.value(statistics) : dy}, targets, n);
    }
    if (s.emits(s.input())) {
        n.n[0] = s.volume(s.input());
        s.to.launch(kernel_id::normalize_gradient,
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
    n.f[1] = s.attributes().momentum;
    n.f[2] = s.attributes().epsilon;
    const bool whole = s.to.what().implementation == whole_operator;
    std::vector<memory_use> memory{s.value(s.intermediate(0)), s.value_to(running)};
    if (const int flag = s.to.what().flag; flag >= 0) {
        memory.push_back(s.to.read(flag));
        n.n[5] = 1;
    }
    s.to.launch(whole ? kernel_id::running_moments : kernel_id::running_statistics,
                static_cast<std::vector<memory_use>&&>(memory), n, n.n[0]);
}

/// Samples, classes, pixels and the number of the first class of a shard of logits. A position of a sequence is a sample.
inline kernel_numbers class_numbers(const shard_call& s) {
    const box x = s.region_of(s.input());
    if (x.rank == 3) {
        kernel_numbers n;
        n.n[0] = x.dim[0].size() * x.dim[1].size();
        n.n[1] = x.dim[2].size();
        n.n[2] = 1;
        n.n[3] = x.dim[2].begin;
        return n;
    }
    kernel_numbers n = channel_numbers(s, s.input());
    n.n[3] = x.dim[1].begin;
    return n;
}

inline void cross_entropy_forward(const shard_call& s) {
    const kernel_numbers n = class_numbers(s);
    const index_t rows = n.n[0] * n.n[2];
    const memory_use logits = s.value(s.input());
    const int largest = s.intermediate(0);
    const int total = s.intermediate(1);
    if (s.call.first_nest == 0) {
        s.to.launch_blocks(kernel_id::row_maximum, {logits, s.value_to(largest)}, n, rows, n.n[1]);
    }
    if (s.call.first_nest <= 1 && s.call.last_nest >= 1) {
        s.to.launch_blocks(kernel_id::row_exponentials, {logits, s.value(largest), s.value_to(total)}, n, rows, n.n[1]);
    }
    if (s.call.last_nest == 2) {
        s.to.launch(kernel_id::row_loss,
                    {logits, s.value(s.input(1)), s.value(largest), s.value(total), s.value_to(s.output())}, n, rows);
    }
}

inline void cross_entropy_backward(const shard_call& s) {
    kernel_numbers n = class_numbers(s);
    n.f[0] = s.call.loss_scale;
    s.to.launch(kernel_id::softmax_gradient,
                {s.value(s.input()), s.value(s.input(1)), s.value(s.intermediate(0)), s.value(s.intermediate(1)),
                 s.gradient_to(s.input())},
                n, s.volume(s.input()));
}

} // namespace tessera::cuda::detail
