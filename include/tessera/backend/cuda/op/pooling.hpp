// SPDX-License-Identifier: Apache-2.0
// Pools of images and of volumes. Their kernels take windows of shards: any padding on any side, dilation, and gradients that are gathered, so that
// no two threads add to one element. n of all of them: planes, rows and columns of the tile of x, rows and columns of that of y, the tile row and
// column of x at which the first window begins (negative: in the padding), strides, dilations, window, then 0 maximum or 1 average, then 1 if padding
// counts; of volumes the same six numbers of the depth behind them. Every element of x that a window covers is in the tile. Of images the depth is 1
// for the compiler, too.
#pragma once

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/calls/windows.hpp"
#include "tessera/op/pool.hpp"

namespace tessera::cuda::kernels {

inline constexpr kernel pool_forward{"pool_forward", true};
inline constexpr kernel pool_maximum_backward{"pool_maximum_backward", true};
inline constexpr kernel pool_average_backward{"pool_average_backward", true};
inline constexpr kernel pool3d_forward{"pool3d_forward", true};
inline constexpr kernel pool3d_maximum_backward{"pool3d_maximum_backward", true};
inline constexpr kernel pool3d_average_backward{"pool3d_average_backward", true};
inline constexpr kernel spread{"spread", true};

// clang-format off
TESSERA_DEVICE_CODE(pool_code,

/// Depth, height, width.
struct three {
    long long d, h, w;
};

struct window {
    long long planes;
    three in, out, first, stride, dilation, size;
    bool average, counts_padding;

    __device__ long long volume() const { return in.d * in.h * in.w; }
    __device__ long long outputs() const { return out.d * out.h * out.w; }
    __device__ long long place(long long d, long long h, long long w) const { return (d * in.h + h) * in.w + w; }
    __device__ bool is_inside(long long d, long long h, long long w) const {
        return d >= 0 && d < in.d && h >= 0 && h < in.h && w >= 0 && w < in.w;
    }
};

/// Numbers i and i + 1, of height and width, and number `depth` before them.
template <bool Volume>
__device__ inline three three_of(const arguments& a, int i, int depth, long long of_images) {
    const long long d = Volume ? a.n[depth] : of_images;
    return {d, a.n[i], a.n[i + 1]};
}
template <bool Volume>
__device__ inline window window_of(const arguments& a) {
    return {a.n[0], three_of<Volume>(a, 1, 15, 1), three_of<Volume>(a, 3, 16, 1), three_of<Volume>(a, 5, 17, 0),
            three_of<Volume>(a, 7, 18, 1), three_of<Volume>(a, 9, 19, 1), three_of<Volume>(a, 11, 20, 1), a.n[13] == 1, a.n[14] == 1};
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

__device__ inline float divisor(const window& w, const three& at) {
    const long long count = w.counts_padding
                                ? w.size.d * w.size.h * w.size.w
                                : inside(at.d, w.dilation.d, w.size.d, w.in.d) * inside(at.h, w.dilation.h, w.size.h, w.in.h) *
                                      inside(at.w, w.dilation.w, w.size.w, w.in.w);
    return static_cast<float>(count);
}

template <bool Volume, class T>
__device__ void pool_each(const arguments& a) {
    const window w = window_of<Volume>(a);
    const long long count = w.planes * w.outputs();
    for (long long i = first_index(); i < count; i += index_step()) {
        const long long plane = Volume ? i / (w.out.h * w.out.w) % w.out.d : 0;
        const three at = {w.first.d + plane * w.stride.d, w.first.h + i / w.out.w % w.out.h * w.stride.h,
                          w.first.w + i % w.out.w * w.stride.w};
        const T* x = pointer<const T>(a, 0) + i / w.outputs() * w.volume();
        float result = w.average ? 0.0f : -1.0f / 0.0f;
        for (long long q = 0; q < w.size.d; ++q) {
            for (long long r = 0; r < w.size.h; ++r) {
                for (long long s = 0; s < w.size.w; ++s) {
                    const long long d = at.d + q * w.dilation.d;
                    const long long h = at.h + r * w.dilation.h;
                    const long long v = at.w + s * w.dilation.w;
                    if (w.is_inside(d, h, v)) {
                        const float value = x[w.place(d, h, v)];
                        result = w.average ? result + value : larger(result, value);
                    }
                }
            }
        }
        pointer<T>(a, 1)[i] = w.average ? result / divisor(w, at) : result;
    }
}

/// at: x, y.
template <class T>
__device__ void pool_forward_of(const arguments& a) {
    pool_each<false, T>(a);
}
TYPED_KERNEL(pool_forward)
template <class T>
__device__ void pool3d_forward_of(const arguments& a) {
    pool_each<true, T>(a);
}
TYPED_KERNEL(pool3d_forward)

/// True where `place` is that of the first of the largest elements of the window at `at`, in row-major order, or of the last NaN.
template <class T>
__device__ bool is_first_maximum(const window& w, const T* x, const three& at, long long place) {
    long long best = -1;
    float largest = 0.0f;
    for (long long q = 0; q < w.size.d; ++q) {
        for (long long r = 0; r < w.size.h; ++r) {
            for (long long s = 0; s < w.size.w; ++s) {
                const long long d = at.d + q * w.dilation.d;
                const long long h = at.h + r * w.dilation.h;
                const long long v = at.w + s * w.dilation.w;
                if (!w.is_inside(d, h, v)) {
                    continue;
                }
                const float value = x[w.place(d, h, v)];
                if (best < 0 || value > largest || value != value) {
                    best = w.place(d, h, v);
                    largest = value;
                }
            }
        }
    }
    return best == place;
}

/// The window whose element `r` is at `x` along one dimension, or -1.
__device__ inline long long window_at(long long from_first, long long stride, long long windows) {
    return from_first < 0 || from_first % stride != 0 || from_first / stride >= windows ? -1 : from_first / stride;
}

/// Sum over the windows that cover an element, in row-major order of the windows.
template <bool Volume, bool Average, class T>
__device__ void pool_backward(const arguments& a) {
    const window w = window_of<Volume>(a);
    const T* all_dy = pointer<const T>(a, Average ? 0 : 1);
    T* dx = pointer<T>(a, Average ? 1 : 2);
    const long long count = w.planes * w.volume();
    for (long long i = first_index(); i < count; i += index_step()) {
        const long long plane = i / w.volume();
        const long long place = i % w.volume();
        const long long d = Volume ? place / (w.in.h * w.in.w) : 0;
        const long long h = i / w.in.w % w.in.h;
        const long long v = i % w.in.w;
        const T* x = pointer<const T>(a, 0) + plane * w.volume();
        const T* dy = all_dy + plane * w.outputs();
        float sum = 0.0f;
        for (long long q = w.size.d - 1; q >= 0; --q) {
            const long long from_d = d - w.first.d - q * w.dilation.d;
            const long long out_d = window_at(from_d, w.stride.d, w.out.d);
            for (long long r = w.size.h - 1; r >= 0 && out_d >= 0; --r) {
                const long long from_h = h - w.first.h - r * w.dilation.h;
                const long long out_h = window_at(from_h, w.stride.h, w.out.h);
                for (long long s = w.size.w - 1; s >= 0 && out_h >= 0; --s) {
                    const long long from_w = v - w.first.w - s * w.dilation.w;
                    const long long out_w = window_at(from_w, w.stride.w, w.out.w);
                    if (out_w < 0) {
                        continue;
                    }
                    const three at = {w.first.d + from_d, w.first.h + from_h, w.first.w + from_w};
                    const float g = dy[(out_d * w.out.h + out_h) * w.out.w + out_w];
                    if (Average) {
                        sum += g / divisor(w, at);
                    } else if (is_first_maximum(w, x, at, place)) {
                        sum += g;
                    }
                }
            }
        }
        dx[i] = sum;
    }
}

/// at: x, dy, dx.
template <class T>
__device__ void pool_maximum_backward_of(const arguments& a) {
    pool_backward<false, false, T>(a);
}
TYPED_KERNEL(pool_maximum_backward)
template <class T>
__device__ void pool3d_maximum_backward_of(const arguments& a) {
    pool_backward<true, false, T>(a);
}
TYPED_KERNEL(pool3d_maximum_backward)

/// at: dy, dx.
template <class T>
__device__ void pool_average_backward_of(const arguments& a) {
    pool_backward<false, true, T>(a);
}
TYPED_KERNEL(pool_average_backward)
template <class T>
__device__ void pool3d_average_backward_of(const arguments& a) {
    pool_backward<true, true, T>(a);
}
TYPED_KERNEL(pool3d_average_backward)

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
    kernel_numbers n;
    n.n[0] = s.size(s.output(), 0) * s.size(s.output(), 1);
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

inline void pool_forward(const shard_call& s, bool average) {
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
        s.to.launch(a.dimensions == 3 ? kernels::pool3d_forward : kernels::pool_forward,
                    {s.value(s.input()), s.value_to(s.output())}, pool_numbers(s, w, average), s.volume(s.output()));
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

inline void max_pool_forward(const shard_call& s) { pool_forward(s, false); }
inline void average_pool_forward(const shard_call& s) { pool_forward(s, true); }

/// Kernels of our own: cuDNN's need the output, which the plan has freed, and do not say which of several maxima they take.
inline void max_pool_backward(const shard_call& s) {
    const window_place w = place_of(s);
    s.to.launch(w.a.dimensions == 3 ? kernels::pool3d_maximum_backward : kernels::pool_maximum_backward,
                {s.value(s.input()), s.gradient(s.output()), s.gradient_to(s.input())}, pool_numbers(s, w, false),
                s.volume(s.input()));
}

inline void average_pool_backward(const shard_call& s) {
    const window_place w = place_of(s);
    s.to.launch(w.a.dimensions == 3 ? kernels::pool3d_average_backward : kernels::pool_average_backward,
                {s.gradient(s.output()), s.gradient_to(s.input())}, pool_numbers(s, w, true), s.volume(s.input()));
}

/// One window that is the whole tile, scaled from the tile's mean to its part of the plane's. The planes of a volume are rows of one image.
inline void global_pool_forward(const shard_call& s) {
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

inline void global_pool_backward(const shard_call& s) {
    const shape& whole_plane = s.d.operands[s.input()].extents;
    kernel_numbers n;
    n.n[0] = s.volume(s.input());
    n.n[1] = n.n[0] / (s.size(s.input(), 0) * s.size(s.input(), 1));
    const index_t plane = whole_plane.volume() / (whole_plane[0] * whole_plane[1]);
    n.f[0] = 1 / static_cast<double>(plane);
    s.to.launch(kernels::spread, {s.gradient(s.output()), s.gradient_to(s.input())}, n, n.n[0]);
}

} // namespace tessera::cuda::detail

namespace tessera::cuda {

namespace detail {

constexpr operator_row max_pool_row(const op_record& of, const char* calls_backward) {
    return {.of = &of,
            .forward = max_pool_forward,
            .backward = max_pool_backward,
            .calls_forward = "cudnnPoolingForward",
            .calls_backward = calls_backward,
            .why = "backward needs the output in cuDNN, which the plan has freed, and does not say which of equal "
                   "maxima it takes",
            .code = kernels::pool_code};
}
constexpr operator_row average_pool_row(const op_record& of, const char* calls_backward) {
    return {.of = &of,
            .forward = average_pool_forward,
            .backward = average_pool_backward,
            .calls_forward = "cudnnPoolingForward",
            .calls_backward = calls_backward,
            .why = "cuDNN's backward asks for input and output, which the plan has freed",
            .code = kernels::pool_code};
}

} // namespace detail

inline constexpr operator_row pool_rows[] = {
    detail::max_pool_row(op::max_pool_record, "kernel:pool_maximum_backward"),
    detail::average_pool_row(op::average_pool_record, "kernel:pool_average_backward"),
    detail::max_pool_row(op::max_pool3d_record, "kernel:pool3d_maximum_backward"),
    detail::average_pool_row(op::average_pool3d_record, "kernel:pool3d_average_backward"),
    {.of = &op::global_average_pool_record,
     .forward = detail::global_pool_forward,
     .backward = detail::global_pool_backward,
     .calls_forward = "cudnnPoolingForward",
     .calls_backward = "kernel:spread",
     .why = "cuDNN's backward asks for input and output, which the plan has freed",
     .code = kernels::pool_code},
};

} // namespace tessera::cuda
