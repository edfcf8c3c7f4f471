// SPDX-License-Identifier: Apache-2.0
// Bodies of pooling.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/pooling.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE kernels::pool_numbers pool_numbers_of(const shard_call& s, const window_place& w, bool average) {
    kernels::pool_numbers n{.planes = s.size(s.output(), 0) * s.size(s.output(), 1),
                            .average = average ? 1 : 0,
                            .counts_padding = op::counts_padding(s.attributes(), 2 + w.a.dimensions) ? 1 : 0,
                            .in_depth = 1,
                            .out_depth = 1,
                            .stride_depth = 1,
                            .dilation_depth = 1,
                            .size_depth = 1};
    const int deep = w.a.dimensions - 2; // 1 where there is a depth, which is the first dimension
    if (deep == 1) {
        n.in_depth = w.extent[0];
        n.out_depth = s.size(s.output(), 2);
        n.first_depth = -w.before[0];
        n.stride_depth = w.a.stride[0];
        n.dilation_depth = w.a.dilation[0];
        n.size_depth = w.a.window[0];
    }
    for (int d = 0; d < 2; ++d) {
        const int k = deep + d;
        n.in[d] = w.extent[k];
        n.out[d] = s.size(s.output(), 2 + k);
        n.first[d] = -w.before[k];
        n.stride[d] = w.a.stride[k];
        n.dilation[d] = w.a.dilation[k];
        n.size[d] = w.a.window[k];
    }
    return n;
}

TESSERA_INLINE bool has_small_planes(const kernels::pool_numbers& n) {
    constexpr index_t most = std::numeric_limits<int>::max() / 2;
    bool small = n.in[0] * n.in[1] < most && n.out[0] * n.out[1] < most;
    for (int d = 0; d < 2; ++d) {
        const index_t reach = n.in[d] + n.out[d] * n.stride[d] + n.dilation[d] * n.size[d];
        small = small && reach < most && n.first[d] < most && -n.first[d] < most;
    }
    return small;
}

TESSERA_INLINE index_t cut_pool(kernels::pool_numbers& n, index_t least) {
    constexpr index_t enough = 2048; // blocks for any GPU
    constexpr index_t most = 8192;   // elements of a block
    const index_t total = n.planes * n.in[0] * n.in[1];
    if (total == 0 || n.out[0] * n.out[1] == 0 || !has_small_planes(n)) {
        return 0;
    }
    const auto in_parts = [](index_t x, index_t parts) { return (x + parts - 1) / parts; };
    const auto windows = [&](int d, index_t elements) { // the most that touch so many neighbours
        const index_t reach = (n.size[d] - 1) * n.dilation[d];
        return std::min(n.out[d], (elements + reach - 1) / n.stride[d] + 1);
    };
    const auto fit = [&](index_t rows, index_t columns) {
        return windows(0, rows) * windows(1, columns) <= most_pool_windows;
    };
    index_t columns = std::min(n.in[1], most_pool_side);
    while (columns > 1 && !fit(1, columns)) {
        columns = in_parts(columns, 2);
    }
    if (!fit(1, columns)) {
        return 0;
    }
    const index_t work = std::clamp(total / enough, least, most);
    n.blocks[1] = in_parts(n.in[1], columns);
    n.block[1] = columns = in_parts(n.in[1], n.blocks[1]);
    index_t rows = std::clamp<index_t>(work / columns, 1, std::min(n.in[0], most_pool_side));
    while (!fit(rows, columns)) {
        --rows;
    }
    n.blocks[0] = in_parts(n.in[0], rows);
    n.block[0] = rows = in_parts(n.in[0], n.blocks[0]);
    n.windows[0] = windows(0, rows);
    n.windows[1] = windows(1, columns);
    n.block_planes = 1;
    if (n.blocks[0] == 1 && n.blocks[1] == 1) {
        n.block_planes = std::clamp<index_t>(
            std::min(work / (rows * columns), most_pool_windows / (n.windows[0] * n.windows[1])), 1, n.planes);
    }
    for (int d = 0; d < 2; ++d) {
        n.step[d] = n.dilation[d] / std::gcd(n.dilation[d], n.stride[d]);
        // Of elements, then of windows: stacks of four, which share what is the same in a column, where that leaves
        // work for all threads.
        const index_t(&of)[2] = d == 0 ? n.block : n.windows;
        n.stack[d] = n.block_planes * of[0] * of[1] >= 4 * 256 ? 4 : 1;
        n.stacks[d] = in_parts(of[0], n.stack[d]);
        n.factors[d].stacks = (index_t{1} << 31) / n.stacks[d] + 1;
        n.factors[d].columns = (index_t{1} << 31) / of[1] + 1;
    }
    return in_parts(n.planes, n.block_planes) * n.blocks[0] * n.blocks[1];
}

TESSERA_INLINE void pool_backward(const shard_call& s, const window_place& w, bool average, const kernel& of_images,
                                  const kernel& of_volumes, std::vector<memory_use> memory) {
    kernels::pool_numbers n = pool_numbers_of(s, w, average);
    const index_t blocks = w.a.dimensions == 3 ? 0 : cut_pool(n);
    if (blocks == 0) {
        s.to.launch(of_volumes, std::move(memory), kernel_numbers(n), s.volume(s.input()));
        return;
    }
    const index_t work = n.block_planes * std::max(n.block[0] * n.block[1], n.windows[0] * n.windows[1]);
    s.to.launch_blocks(of_images, std::move(memory), kernel_numbers(n), blocks, work);
}

TESSERA_INLINE void pool_forward(const shard_call& s, bool average) {
    const window_place w = place_of(s);
    const op::windows& a = w.a;
    bool vendor = w.is_even() && !a.is_dilated();
    pooling c;
    c.set_dimensions(a.dimensions);
    c.type = s.type();
    for (int k = 0; k < a.dimensions; ++k) {
        vendor = vendor && w.before[k] < a.window[k];
        c.window[k] = to_int(a.window[k]);
        c.padding[k] = to_int(w.before[k]);
        c.stride[k] = to_int(a.stride[k]);
    }
    if (!vendor) {
        const kernels::pool_numbers n = pool_numbers_of(s, w, average);
        const index_t count = s.volume(s.output());
        const bool small = has_small_planes(n) && count <= std::numeric_limits<int>::max();
        s.to.launch(a.dimensions == 3 || !small ? kernels::pool3d_forward : kernels::pool_forward,
                    {s.value(s.input()), s.value_to(s.output())}, kernel_numbers(n), count);
        return;
    }
    for (int k = 0; k < c.x.size(); ++k) {
        c.x[k] = to_int(s.size(s.input(), k));
        c.y[k] = to_int(s.size(s.output(), k));
    }
    c.how = !average                                               ? pooling::mode::maximum
            : op::counts_padding(s.attributes(), 2 + a.dimensions) ? pooling::mode::average_with_padding
                                                                   : pooling::mode::average;
    s.to.add(c, {s.value(s.input()), s.value_to(s.output())});
}

TESSERA_INLINE void max_pool_backward(const shard_call& s) {
    pool_backward(s, place_of(s), false, kernels::pool_maximum_backward, kernels::pool3d_maximum_backward,
                  {s.value(s.input()), s.gradient(s.output()), s.gradient_to(s.input())});
}

TESSERA_INLINE void average_pool_backward(const shard_call& s) {
    pool_backward(s, place_of(s), true, kernels::pool_average_backward, kernels::pool3d_average_backward,
                  {s.gradient(s.output()), s.gradient_to(s.input())});
}

TESSERA_INLINE void global_pool_forward(const shard_call& s) {
    const box tile = s.region_of(s.input());
    const shape& whole_plane = s.d.operands[s.input()].extents;
    const index_t columns = tile.dim[tile.rank - 1].size();
    const index_t plane = tile.volume() / (tile.dim[0].size() * tile.dim[1].size());
    pooling c;
    c.type = s.type();
    c.how = pooling::mode::average;
    c.x[0] = c.y[0] = to_int(tile.dim[0].size());
    c.x[1] = c.y[1] = to_int(tile.dim[1].size());
    c.y[2] = c.y[3] = 1;
    c.window[0] = c.x[2] = to_int(plane / columns);
    c.window[1] = c.x[3] = to_int(columns);
    c.scale = static_cast<float>(static_cast<double>(plane) * static_cast<double>(whole_plane[0] * whole_plane[1]) /
                                 static_cast<double>(whole_plane.volume()));
    s.to.add(c, {s.value(s.input()), s.value_to(s.output())});
}

TESSERA_INLINE void global_pool_backward(const shard_call& s) {
    const shape& whole_plane = s.d.operands[s.input()].extents;
    const index_t count = s.volume(s.input());
    const kernels::spread_numbers n{.count = count, .plane = count / (s.size(s.input(), 0) * s.size(s.input(), 1))};
    const index_t plane = whole_plane.volume() / (whole_plane[0] * whole_plane[1]);
    const kernels::spread_reals reals{.scale = 1 / static_cast<double>(plane)};
    s.to.launch(kernels::spread, {s.gradient(s.output()), s.gradient_to(s.input())}, kernel_numbers(n, reals), count);
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
