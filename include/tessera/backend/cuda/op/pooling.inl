// SPDX-License-Identifier: Apache-2.0
// Bodies of pooling.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/pooling.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE kernel_numbers pool_numbers(const shard_call& s, const window_place& w, bool average) {
    kernel_numbers n;
    n.n[0] = s.size(s.output(), 0) * s.size(s.output(), 1);
    n.n[15] = n.n[16] = n.n[18] = n.n[19] = n.n[20] = 1;
    const int deep = w.a.dimensions - 2; // 1 where there is a depth, which is the first dimension
    for (int k = 0; k < w.a.dimensions; ++k) {
        const index_t numbers[] = {w.extent[k],   s.size(s.output(), 2 + k), -w.before[k],
                                   w.a.stride[k], w.a.dilation[k],           w.a.window[k]};
        for (int i = 0; i < 6; ++i) {
            n.n[k < deep ? 15 + i : 1 + 2 * i + k - deep] = numbers[i];
        }
    }
    n.n[13] = average ? 1 : 0;
    n.n[14] = op::counts_padding(s.attributes(), 2 + w.a.dimensions) ? 1 : 0;
    return n;
}

TESSERA_INLINE bool has_small_planes(const kernel_numbers& k) {
    constexpr index_t most = std::numeric_limits<int>::max() / 2;
    const index_t* const n = k.n;
    bool small = n[1] * n[2] < most && n[3] * n[4] < most;
    for (int d = 0; d < 2; ++d) {
        const index_t reach = n[1 + d] + n[3 + d] * n[7 + d] + n[9 + d] * n[11 + d];
        small = small && reach < most && n[5 + d] < most && -n[5 + d] < most;
    }
    return small;
}

TESSERA_INLINE index_t cut_pool(kernel_numbers& k, index_t least) {
    constexpr index_t enough = 2048; // blocks for any GPU
    constexpr index_t most = 8192;   // elements of a block
    index_t* const n = k.n;
    const index_t total = n[0] * n[1] * n[2];
    if (total == 0 || n[3] * n[4] == 0 || !has_small_planes(k)) {
        return 0;
    }
    const auto in_parts = [](index_t x, index_t parts) { return (x + parts - 1) / parts; };
    const auto windows = [&](int d, index_t elements) { // the most that touch so many neighbours
        const index_t reach = (n[11 + d] - 1) * n[9 + d];
        return std::min(n[3 + d], (elements + reach - 1) / n[7 + d] + 1);
    };
    const auto fit = [&](index_t rows, index_t columns) {
        return windows(0, rows) * windows(1, columns) <= most_pool_windows;
    };
    index_t columns = std::min(n[2], most_pool_side);
    while (columns > 1 && !fit(1, columns)) {
        columns = in_parts(columns, 2);
    }
    if (!fit(1, columns)) {
        return 0;
    }
    const index_t work = std::clamp(total / enough, least, most);
    n[25] = in_parts(n[2], columns);
    n[23] = columns = in_parts(n[2], n[25]);
    index_t rows = std::clamp<index_t>(work / columns, 1, std::min(n[1], most_pool_side));
    while (!fit(rows, columns)) {
        --rows;
    }
    n[24] = in_parts(n[1], rows);
    n[22] = rows = in_parts(n[1], n[24]);
    n[26] = windows(0, rows);
    n[27] = windows(1, columns);
    n[21] = 1;
    if (n[24] == 1 && n[25] == 1) {
        n[21] = std::clamp<index_t>(std::min(work / (rows * columns), most_pool_windows / (n[26] * n[27])), 1, n[0]);
    }
    for (int d = 0; d < 2; ++d) {
        n[28 + d] = n[9 + d] / std::gcd(n[9 + d], n[7 + d]);
        // Stacks of four, which share what is the same in a column, where that leaves work for all threads.
        const index_t across = n[d == 0 ? 23 : 27];
        const index_t down = n[d == 0 ? 22 : 26];
        n[30 + d] = n[21] * down * across >= 4 * 256 ? 4 : 1;
        n[32 + d] = in_parts(down, n[30 + d]);
        n[34 + 2 * d] = (index_t{1} << 31) / n[32 + d] + 1;
        n[35 + 2 * d] = (index_t{1} << 31) / across + 1;
    }
    return in_parts(n[0], n[21]) * n[24] * n[25];
}

TESSERA_INLINE void pool_backward(const shard_call& s, const window_place& w, bool average, const kernel& of_images,
                                  const kernel& of_volumes, std::vector<memory_use> memory) {
    kernel_numbers n = pool_numbers(s, w, average);
    const index_t blocks = w.a.dimensions == 3 ? 0 : cut_pool(n);
    if (blocks == 0) {
        s.to.launch(of_volumes, std::move(memory), n, s.volume(s.input()));
        return;
    }
    const index_t work = n.n[21] * std::max(n.n[22] * n.n[23], n.n[26] * n.n[27]);
    s.to.launch_blocks(of_images, std::move(memory), n, blocks, work);
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
        const kernel_numbers n = pool_numbers(s, w, average);
        const index_t count = s.volume(s.output());
        const bool small = has_small_planes(n) && count <= std::numeric_limits<int>::max();
        s.to.launch(a.dimensions == 3 || !small ? kernels::pool3d_forward : kernels::pool_forward,
                    {s.value(s.input()), s.value_to(s.output())}, n, count);
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
    kernel_numbers n;
    n.n[0] = s.volume(s.input());
    n.n[1] = n.n[0] / (s.size(s.input(), 0) * s.size(s.input(), 1));
    const index_t plane = whole_plane.volume() / (whole_plane[0] * whole_plane[1]);
    n.f[0] = 1 / static_cast<double>(plane);
    s.to.launch(kernels::spread, {s.gradient(s.output()), s.gradient_to(s.input())}, n, n.n[0]);
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
