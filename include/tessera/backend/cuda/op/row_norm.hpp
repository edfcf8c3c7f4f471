// SPDX-License-Identifier: Apache-2.0
// Normalizations of rows, nest by nest: a split leaves partial results between the nests. Layer norm, and group norm
// with a group of a sample's channels for a row. cuDNN's classic interface has none of them.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/calls/numbers.hpp"
#include "tessera/backend/cuda/kernels/row_norm.hpp"

namespace tessera::cuda::detail {

/// What tells one from another; its kernels' numbers begin as kernels/row_norm.hpp says.
template <class Numbers>
struct row_norm {
    kernel normalize;
    kernel statistics_gradient;
    kernel scale_gradient; ///< a block for each channel
    kernel input_gradient;
    Numbers (*numbers)(const shard_call&);
    kernels::norm_reals (*reals)(const shard_call&);
    /// Of beta: the sums of dy alone.
    void (*shift_gradient)(const shard_call&, const Numbers&, const memory_use& dy);
};

template <const auto& Norm>
void row_norm_forward(const shard_call& s) {
    const auto n = Norm.numbers(s);
    const kernel_numbers numbers(n, Norm.reals(s));
    const int statistics = s.intermediate(0);
    if (s.call.first_nest == 0) {
        // To that kernel a row is the plane of a channel of one sample.
        const kernels::channel_numbers rows{.samples = 1, .channels = n.rows, .plane = n.columns};
        s.to.launch_blocks(kernels::channel_statistics, {s.value(s.input()), s.value_to(statistics)},
                           kernel_numbers(rows), n.rows, n.columns);
    }
    if (s.call.last_nest == 1) {
        s.to.launch(Norm.normalize,
                    {s.value(s.input()), s.value(statistics), s.value(s.parameter(0)), s.value(s.parameter(1)),
                     s.value_to(s.output())},
                    numbers, s.volume(s.output()));
    }
}

/// Of gamma: a block for each of its elements.
void launch_by_channels(const shard_call& s, const kernel& which, const std::vector<memory_use>& memory,
                        const kernel_numbers& n);

template <const auto& Norm>
void row_norm_backward(const shard_call& s) {
    const auto n = Norm.numbers(s);
    const kernel_numbers numbers(n, Norm.reals(s));
    const memory_use dy = s.gradient(s.output());
    const int statistics = s.intermediate(0);
    if (s.emits(statistics)) {
        s.to.launch_blocks(
            Norm.statistics_gradient,
            {dy, s.value(s.input()), s.value(s.parameter(0)), s.value(statistics), s.gradient_to(statistics)}, numbers,
            n.rows, n.columns);
    }
    if (s.emits(s.parameter(0))) {
        launch_by_channels(s, Norm.scale_gradient,
                           {dy, s.value(s.input()), s.value(statistics), s.gradient_to(s.parameter(0))}, numbers);
    }
    if (s.emits(s.parameter(1))) {
        Norm.shift_gradient(s, n, dy);
    }
    if (s.emits(s.input())) {
        s.to.launch(Norm.input_gradient,
                    {dy, s.value(s.input()), s.value(s.parameter(0)), s.value(statistics), s.gradient(statistics),
                     s.gradient_to(s.input())},
                    numbers, s.volume(s.input()));
    }
}

} // namespace tessera::cuda::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/row_norm.inl"
#endif

#include "tessera/base/end_header.inl"
