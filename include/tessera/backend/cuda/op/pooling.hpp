// SPDX-License-Identifier: Apache-2.0
// Pools. Their kernels take windows of shards: any padding on any side, dilation, and gradients that are gathered, so that no two threads add to one
// element. n of all three: planes, rows and columns of the tile of x, rows and columns of that of y, the tile row and column of x at
// which the first window begins (negative: in the padding), strides, dilations, window, then 0 maximum or 1 average, then 1 if
// padding counts. Every element of x that a window covers is in the tile.
#pragma once

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/calls/windows.hpp"
#include "tessera/op/pool.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel pool_forward{"pool_forward", true};
inline constexpr kernel pool_maximum_backward{"pool_maximum_backward", true};
inline constexpr kernel pool_average_backward{"pool_average_backward", true};
inline constexpr kernel spread{"spread", true};

// clang-format off
TESSERA_DEVICE_CODE(pool_code,

struct window {
    long long planes, rows, columns, out_rows, out_columns, top, left;
    long long stride_h, stride_w, dilation_h, dilation_w, height, width;
    bool average, counts_padding;
};

__device__ inline window window_of(const arguments& a) {
    return {a.n[0], a.n[1], a.n[2], a.n[3], a.n[4], a.n[5], a.n[6],
            a.n[7], a.n[8], a.n[9], a.n[10], a.n[11], a.n[12], a.n[13] == 1, a.n[14] == 1};
}

/// Positions of a window along one dimension that are not padding.
__device__ inline long long inside(long long first, long long dilation, long long size, long long extent) {
    long long count = 0;
    for (long long r = 0; r < size; ++r) {
        const long long x = first + r * dilation;
        count += x >= 0 && x < extent ? 1 : 0;
    }
    return count;
}

__device__ inline float divisor(const window& w, long long top, long long left) {
    const long long count = w.counts_padding
                                ? w.height * w.width
                                : inside(top, w.dilation_h, w.height, w.rows) * inside(left, w.dilation_w, w.width, w.columns);
    return static_cast<float>(count);
}

/// at: x, y.
template <class T>
__device__ void pool_forward_of(const arguments& a) {
    const window w = window_of(a);
    const long long count = w.planes * w.out_rows * w.out_columns;
    for (long long i = first_index(); i < count; i += index_step()) {
        const long long top = w.top + i / w.out_columns % w.out_rows * w.stride_h;
        const long long left = w.left + i % w.out_columns * w.stride_w;
        const T* x = pointer<const T>(a, 0) + i / (w.out_rows * w.out_columns) * w.rows * w.columns;
        float result = w.average ? 0.0f : -1.0f / 0.0f;
        for (long long r = 0; r < w.height; ++r) {
            for (long long s = 0; s < w.width; ++s) {
                const long long h = top + r * w.dilation_h;
                const long long v = left + s * w.dilation_w;
                if (h >= 0 && h < w.rows && v >= 0 && v < w.columns) {
                    const float value = x[h * w.columns + v];
                    result = w.average ? result + value : larger(result, value);
                }
            }
        }
        pointer<T>(a, 1)[i] = w.average ? result / divisor(w, top, left) : result;
    }
}
TYPED_KERNEL(pool_forward)

/// True where (h, v) is the first of the largest elements of the window at (top, left), in row-major order, or the last NaN.
template <class T>
__device__ bool is_first_maximum(const window& w, const T* x, long long top, long long left, long long h, long long v) {
    long long best = -1;
    float largest = 0.0f;
    for (long long r = 0; r < w.height; ++r) {
        for (long long s = 0; s < w.width; ++s) {
            const long long row = top + r * w.dilation_h;
            const long long column = left + s * w.dilation_w;
            if (row < 0 || row >= w.rows || column < 0 || column >= w.columns) {
                continue;
            }
            const float value = x[row * w.columns + column];
            if (best < 0 || value > largest || value != value) {
                best = row * w.columns + column;
                largest = value;
            }
        }
    }
    return best == h * w.columns + v;
}

/// Sum over the windows that cover an element, in row-major order of the windows.
template <bool Average, class T>
__device__ void pool_backward(const arguments& a) {
    const window w = window_of(a);
    const T* all_dy = pointer<const T>(a, Average ? 0 : 1);
    T* dx = pointer<T>(a, Average ? 1 : 2);
    const long long count = w.planes * w.rows * w.columns;
    for (long long i = first_index(); i < count; i += index_step()) {
        const long long plane = i / (w.rows * w.columns);
        const long long h = i / w.columns % w.rows;
        const long long v = i % w.columns;
        const T* x = pointer<const T>(a, 0) + plane * w.rows * w.columns;
        const T* dy = all_dy + plane * w.out_rows * w.out_columns;
        float sum = 0.0f;
        for (long long r = w.height - 1; r >= 0; --r) {
            const long long from_top = h - w.top - r * w.dilation_h;
            if (from_top < 0 || from_top % w.stride_h != 0 || from_top / w.stride_h >= w.out_rows) {
                continue;
            }
            for (long long s = w.width - 1; s >= 0; --s) {
                const long long from_left = v - w.left - s * w.dilation_w;
                if (from_left < 0 || from_left % w.stride_w != 0 || from_left / w.stride_w >= w.out_columns) {
                    continue;
                }
                const long long top = w.top + from_top;
                const long long left = w.left + from_left;
                const float g = dy[from_top / w.stride_h * w.out_columns + from_left / w.stride_w];
                if (Average) {
                    sum += g / divisor(w, top, left);
                } else if (is_first_maximum(w, x, top, left, h, v)) {
                    sum += g;
                }
            }
        }
        dx[i] = sum;
    }
}

/// at: x, dy, dx.
template <class T>
__device__ void pool_maximum_backward_of(const arguments& a) {
    pool_backward<false, T>(a);
}
TYPED_KERNEL(pool_maximum_backward)

/// at: dy, dx.
template <class T>
__device__ void pool_average_backward_of(const arguments& a) {
    pool_backward<true, T>(a);
}
TYPED_KERNEL(pool_average_backward)

/// The gradient of a global average: every element of a plane gets the plane's number. at: dy, dx. n: count, plane. f: factor.
template <class T>
__device__ void spread_of(const arguments& a) {
    const T* dy = pointer<const T>(a, 0);
    T* dx = pointer<T>(a, 1);
    const float scale = static_cast<float>(a.f[0]);
    for (long long i = first_index(); i < a.n[0]; i += index_step()) {
        dx[i] = dy[i / a.n[1]] * scale;
    }
}
TYPED_KERNEL(spread)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

/// The numbers of the kernels above.
inline kernel_numbers pool_numbers(const shard_call& s, const window_place& w, bool average) {
    const auto a = s.attributes().as<op::average_pool_attributes>(); // of maxima too, which count no padding
    kernel_numbers n;
    n.n[0] = s.size(s.output(), 0) * s.size(s.output(), 1);
    for (int k = 0; k < 2; ++k) {
        n.n[1 + k] = w.extent[k];
        n.n[3 + k] = s.size(s.output(), 2 + k);
        n.n[5 + k] = -w.before[k];
        n.n[7 + k] = a.stride[k];
        n.n[9 + k] = a.dilation[k];
        n.n[11 + k] = a.window[k];
    }
    n.n[13] = average ? 1 : 0;
    n.n[14] = a.count_padding ? 1 : 0;
    return n;
}

inline void pool_forward(const shard_call& s, bool average) {
    const window_place w = place_of(s);
    const auto a = s.attributes().as<op::average_pool_attributes>(); // of maxima too, which count no padding
    bool vendor = w.is_even();
    pooling c;
    c.type = s.type();
    for (int k = 0; k < 2; ++k) {
        vendor = vendor && a.dilation[k] == 1 && w.before[k] < a.window[k];
        c.window[k] = to_int(a.window[k]);
        c.padding[k] = to_int(w.before[k]);
        c.stride[k] = to_int(a.stride[k]);
    }
    if (!vendor) {
        s.to.launch(kernels::pool_forward, {s.value(s.input()), s.value_to(s.output())}, pool_numbers(s, w, average),
                    s.volume(s.output()));
        return;
    }
    for (int k = 0; k < 4; ++k) {
        c.x[k] = to_int(s.size(s.input(), k));
    }
    copy_y(s, c.y);
    c.how = !average          ? pooling::mode::maximum
            : a.count_padding ? pooling::mode::average_with_padding
                              : pooling::mode::average;
    s.to.add(c, {s.value(s.input()), s.value_to(s.output())});
}

inline void max_pool_forward(const shard_call& s) { pool_forward(s, false); }
inline void average_pool_forward(const shard_call& s) { pool_forward(s, true); }

/// Kernels of our own: cuDNN's need the output, which the plan has freed, and do not say which of several maxima they take.
inline void max_pool_backward(const shard_call& s) {
    s.to.launch(kernels::pool_maximum_backward, {s.value(s.input()), s.gradient(s.output()), s.gradient_to(s.input())},
                pool_numbers(s, place_of(s), false), s.volume(s.input()));
}

inline void average_pool_backward(const shard_call& s) {
    s.to.launch(kernels::pool_average_backward, {s.gradient(s.output()), s.gradient_to(s.input())},
                pool_numbers(s, place_of(s), true), s.volume(s.input()));
}

/// One window that is the whole tile, scaled from the tile's mean to its part of the plane's.
inline void global_pool_forward(const shard_call& s) {
    const shape& whole_plane = s.d.operands[s.input()].extents;
    pooling c;
    c.type = s.type();
    c.how = pooling::mode::average;
    for (int k = 0; k < 4; ++k) {
        c.x[k] = to_int(s.size(s.input(), k));
        c.y[k] = k < 2 ? c.x[k] : 1;
    }
    c.window[0] = c.x[2];
    c.window[1] = c.x[3];
    c.scale =
        static_cast<float>(static_cast<double>(c.x[2]) * c.x[3] / static_cast<double>(whole_plane[2] * whole_plane[3]));
    s.to.add(c, {s.value(s.input()), s.value_to(s.output())});
}

inline void global_pool_backward(const shard_call& s) {
    const shape& whole_plane = s.d.operands[s.input()].extents;
    kernel_numbers n;
    n.n[0] = s.volume(s.input());
    n.n[1] = s.size(s.input(), 2) * s.size(s.input(), 3);
    n.f[0] = 1 / static_cast<double>(whole_plane[2] * whole_plane[3]);
    s.to.launch(kernels::spread, {s.gradient(s.output()), s.gradient_to(s.input())}, n, n.n[0]);
}

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row pool_rows[] = {
    {.of = &op::max_pool_record,
     .forward = detail::max_pool_forward,
     .backward = detail::max_pool_backward,
     .calls_forward = "cudnnPoolingForward",
     .calls_backward = "kernel:pool_maximum_backward",
     .why = "backward needs the output in cuDNN, which the plan has freed, and does not say which of equal maxima it "
            "takes",
     .code = kernels::pool_code},
    {.of = &op::average_pool_record,
     .forward = detail::average_pool_forward,
     .backward = detail::average_pool_backward,
     .calls_forward = "cudnnPoolingForward",
     .calls_backward = "kernel:pool_average_backward",
     .why = "cuDNN's backward asks for input and output, which the plan has freed",
     .code = kernels::pool_code},
    {.of = &op::global_average_pool_record,
     .forward = detail::global_pool_forward,
     .backward = detail::global_pool_backward,
     .calls_forward = "cudnnPoolingForward",
     .calls_backward = "kernel:spread",
     .why = "cuDNN's backward asks for input and output, which the plan has freed",
     .code = kernels::pool_code},
};

} // namespace tessera::cuda
