// SPDX-License-Identifier: Apache-2.0
// Bodies of transposed_convolution.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/transposed_convolution.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE convolution transposed_of(const shard_call& s, convolution_input& x) {
    const auto a = s.attributes().as<op::window_attributes>();
    const box in = s.region_of(s.input());
    const box out = s.region_of(s.output());
    convolution c;
    c.math = s.attributes().math;
    index_t extent[2];
    index_t first[2];
    for (int k = 0; k < 2; ++k) {
        const index_t rows = out.dim[2 + k].size();
        const index_t before = out.dim[2 + k].begin + a.padding[k] - a.stride[k] * in.dim[2 + k].begin;
        const index_t after = a.stride[k] * (in.dim[2 + k].size() - 1) + a.window[k] - rows - before;
        const bool even = before >= after && before - after < a.stride[k];
        x.padded = x.padded || !even;
        extent[k] = even ? rows : before + rows + (after > 0 ? after : 0);
        first[k] = even ? 0 : before;
        c.padding[k] = even ? to_int(before) : 0;
        c.stride[k] = to_int(a.stride[k]);
        c.w[2 + k] = to_int(a.window[k]);
        c.x[2 + k] = to_int(extent[k]);
        c.y[2 + k] = to_int(in.dim[2 + k].size());
    }
    c.x[0] = c.y[0] = to_int(out.dim[0].size());
    c.x[1] = c.w[1] = to_int(out.dim[1].size());
    c.y[1] = c.w[0] = to_int(in.dim[1].size());
    x.staged = x.padded;
    const index_t planes = out.dim[0].size() * out.dim[1].size();
    const index_t counts[] = {1, 1, planes, out.dim[2].size(), out.dim[3].size()};
    const index_t tile[] = {0, 0, counts[3] * counts[4], counts[4], 1};
    const index_t staged[] = {0, 0, extent[0] * extent[1], extent[1], 1};
    for (int k = 0; k < 5; ++k) {
        x.out_of_tile.count[k] = counts[k];
        x.out_of_tile.from[k] = tile[k];
        x.out_of_tile.to[k] = staged[k];
    }
    x.out_of_tile.to_start = first[0] * extent[1] + first[1];
    x.bytes = planes * extent[0] * extent[1] * bytes_of(s.type());
    return c;
}

TESSERA_INLINE void transposed_forward(const shard_call& s) {
    convolution_input x;
    const convolution c = transposed_of(s, x);
    const memory_use y = s.value_to(s.output());
    const memory_use to = x.staged ? s.to.take(x.bytes) : y;
    add_convolution(s, c, convolution::direction::backward_data, to, s.factor(s.parameter(0)), s.value(s.input()));
    if (x.staged) {
        s.to.copy(turned(x.out_of_tile), composer::as_read(to), y, s.type(), true, reducer::none);
    }
    convolution_bias(s);
}

TESSERA_INLINE void transposed_backward(const shard_call& s) {
    const memory_use dy = s.gradient(s.output());
    if (s.emits(s.input()) || s.emits(s.parameter(0))) {
        convolution_input x;
        const convolution c = transposed_of(s, x);
        memory_use from = dy;
        if (x.staged) {
            const memory_use staged = s.to.take(x.bytes);
            s.to.add(memory_clear{}, {staged});
            s.to.copy(x.out_of_tile, dy, staged, s.type(), true, reducer::none);
            from = composer::as_read(staged);
        }
        if (s.emits(s.input())) {
            add_convolution(s, c, convolution::direction::forward, from, s.factor(s.parameter(0)),
                            s.gradient_to(s.input()));
        }
        if (s.emits(s.parameter(0))) {
            filter_gradient(s, c, from, s.value(s.input()));
        }
    }
    convolution_bias_gradient(s);
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
