// SPDX-License-Identifier: Apache-2.0
// Pools of images and of volumes. Their kernels take windows of shards: any padding on any side, dilation, and
// gradients that are gathered, so that no two threads add to one element. Gradients of images are made by blocks (see
// cut_pool()), each for some rows and columns of a plane, or for several whole planes. Where one element is in more
// windows than a block has room for, an image's kernel is that of volumes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/backend/cuda/calls/windows.hpp"
#include "tessera/op/pool.hpp"

#include <numeric>

namespace tessera::cuda::kernels {

inline constexpr kernel pool_forward{"pool_forward", true};
inline constexpr kernel pool_maximum_backward{"pool_maximum_backward", true};
inline constexpr kernel pool_average_backward{"pool_average_backward", true};
inline constexpr kernel pool3d_forward{"pool3d_forward", true};
inline constexpr kernel pool3d_maximum_backward{"pool3d_maximum_backward", true};
inline constexpr kernel pool3d_average_backward{"pool3d_average_backward", true};
inline constexpr kernel spread{"spread", true};

// clang-format off
TESSERA_KERNELS(pool_code,

/// What quotient() takes to divide by these.
struct pool_factors {
    index_t stacks = 0;  ///< of a plane
    index_t columns = 0; ///< or windows that touch a block, along columns
};
/// Pairs: rows and columns, or, where elements and windows are said, of elements and of windows. Every element of x
/// that a window covers is in the tile.
struct pool_numbers {
    index_t planes = 0;
    index_t in[2] = {};    ///< the tile of x
    index_t out[2] = {};   ///< that of y
    index_t first[2] = {}; ///< of the tile of x, at which the first window begins; negative: in the padding
    index_t stride[2] = {};
    index_t dilation[2] = {};
    index_t size[2] = {}; ///< the window
    index_t average = 0;  ///< 0: maximum
    index_t counts_padding = 0;
    index_t in_depth = 0; ///< the same six of the depth: an image is a volume of depth 1
    index_t out_depth = 0;
    index_t first_depth = 0;
    index_t stride_depth = 0;
    index_t dilation_depth = 0;
    index_t size_depth = 0;
    index_t block_planes = 0; ///< of gradients of images: what a block has
    index_t block[2] = {};
    index_t blocks[2] = {};       ///< along rows and columns
    index_t windows[2] = {};      ///< the most that touch a block
    index_t step[2] = {};         ///< how far the windows that cover an element are apart, in windows
    index_t stack[2] = {};        ///< rows, of elements and of windows, that a thread takes at once
    index_t stacks[2] = {};       ///< such stacks of elements, of windows, that a block has of a plane
    pool_factors factors[2] = {}; ///< of elements, of windows
};
/// Of a global average's gradient.
struct spread_numbers {
    index_t count = 0;
    index_t plane = 0;
};
struct spread_reals {
    double scale = 0;
};
,

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

__device__ inline window window_of(const pool_numbers& n) {
    return {n.planes,
            {n.in_depth, n.in[0], n.in[1]},
            {n.out_depth, n.out[0], n.out[1]},
            {n.first_depth, n.first[0], n.first[1]},
            {n.stride_depth, n.stride[0], n.stride[1]},
            {n.dilation_depth, n.dilation[0], n.dilation[1]},
            {n.size_depth, n.size[0], n.size[1]},
            n.average == 1,
            n.counts_padding == 1};
}

/// Positions of a window along one dimension that are not padding.
template <class Index>
__device__ Index inside(Index first, Index dilation, Index size, Index extent) {
    Index count = 0;
    for (Index r = 0; r < size; ++r) {
        const Index x = first + r * dilation;
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

/// at: x, y.
template <class T>
__device__ void pool3d_forward_of(const given<pool_numbers>& a) {
    const window w = window_of(a.n);
    const long long count = w.planes * w.outputs();
    for (long long i = first_index(); i < count; i += index_step()) {
        const three at = {w.first.d + i / (w.out.h * w.out.w) % w.out.d * w.stride.d,
                          w.first.h + i / w.out.w % w.out.h * w.stride.h, w.first.w + i % w.out.w * w.stride.w};
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
TYPED_KERNEL(pool3d_forward, pool_numbers)

/// True where `place` is that of the first of the largest elements of the window at `at`, in row-major order, or of the
/// last NaN.
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
template <bool Average, class T>
__device__ void pool_backward(const given<pool_numbers>& a) {
    const window w = window_of(a.n);
    const T* all_dy = pointer<const T>(a, Average ? 0 : 1);
    T* dx = pointer<T>(a, Average ? 1 : 2);
    const long long count = w.planes * w.volume();
    for (long long i = first_index(); i < count; i += index_step()) {
        const long long plane = i / w.volume();
        const long long place = i % w.volume();
        const long long d = place / (w.in.h * w.in.w);
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
__device__ void pool3d_maximum_backward_of(const given<pool_numbers>& a) {
    pool_backward<false, T>(a);
}
TYPED_KERNEL(pool3d_maximum_backward, pool_numbers)

/// at: dy, dx.
template <class T>
__device__ void pool3d_average_backward_of(const given<pool_numbers>& a) {
    pool_backward<true, T>(a);
}
TYPED_KERNEL(pool3d_average_backward, pool_numbers)

__device__ inline int smaller(int a, int b) { return a < b ? a : b; }

/// Rows or columns of an image. All that is within a plane fits 32 bits.
struct side {
    int in, out, first, stride, dilation, size;

    __device__ bool has(int x) const { return x >= 0 && x < in; }
    __device__ int nearest(int x) const { return x < 0 ? 0 : x < in ? x : in - 1; }
    /// How many windows begin before `x`.
    __device__ int begun(int x) const { return x <= first ? 0 : smaller((x - first + stride - 1) / stride, out); }
    /// Where the first window would begin whose last element is at `x`; those before it end before `x`.
    __device__ int before(int x) const { return x - (size - 1) * dilation; }
};

/// k: 0 rows, 1 columns.
__device__ inline side side_of(const pool_numbers& n, int k) {
    return {static_cast<int>(n.in[k]), static_cast<int>(n.out[k]), static_cast<int>(n.first[k]),
            static_cast<int>(n.stride[k]), static_cast<int>(n.dilation[k]), static_cast<int>(n.size[k])};
}

__device__ inline float divisor(const pool_numbers& n, const side& h, const side& w, int top, int left) {
    return static_cast<float>(n.counts_padding == 1 ? static_cast<long long>(h.size) * w.size
                                           : static_cast<long long>(inside(top, h.dilation, h.size, h.in)) *
                                                 inside(left, w.dilation, w.size, w.in));
}

/// at: x, y. There are less than 2^31 windows.
template <class T>
__device__ void pool_forward_of(const given<pool_numbers>& a) {
    const side h = side_of(a.n, 0);
    const side w = side_of(a.n, 1);
    const bool average = a.n.average == 1;
    const unsigned wide = static_cast<unsigned>(w.out);
    const unsigned high = static_cast<unsigned>(h.out);
    const long long count = a.n.planes * h.out * w.out;
    for (long long i = first_index(); i < count; i += index_step()) {
        const unsigned line = static_cast<unsigned>(i) / wide;
        const unsigned plane = line / high;
        const int top = h.first + static_cast<int>(line - plane * high) * h.stride;
        const int left = w.first + static_cast<int>(static_cast<unsigned>(i) - line * wide) * w.stride;
        const T* x = pointer<const T>(a, 0) + static_cast<long long>(plane) * (h.in * w.in);
        float result = average ? 0.0f : -1.0f / 0.0f;
        for (int r = 0; r < h.size; ++r) {
            const int y = top + r * h.dilation;
            for (int s = 0; s < w.size && h.has(y); ++s) {
                const int v = left + s * w.dilation;
                if (w.has(v)) {
                    const float value = x[y * w.in + v];
                    result = average ? result + value : larger(result, value);
                }
            }
        }
        pointer<T>(a, 1)[i] = average ? result / divisor(a.n, h, w, top, left) : result;
    }
}
TYPED_KERNEL(pool_forward, pool_numbers)

/// What is_first_maximum() asks for; -1 where all is padding.
template <class T>
__device__ int first_maximum(const T* x, const side& h, const side& w, int top, int left) {
    int best = -1;
    float largest = 0.0f;
    for (int r = 0; r < h.size; ++r) {
        const int y = top + r * h.dilation;
        for (int s = 0; s < w.size && h.has(y); ++s) {
            const int v = left + s * w.dilation;
            if (w.has(v)) {
                const float value = x[y * w.in + v];
                if (best < 0 || value > largest || value != value) {
                    best = y * w.in + v;
                    largest = value;
                }
            }
        }
    }
    return best;
}

/// The same of a square window without gaps, all of it loaded at once. In place of padding there is the nearest
/// element, which is of the window, too: a second time, next to the first, it changes neither which of the largest
/// comes first nor which NaN last.
template <int Size, class T>
__device__ int first_of_square(const T* x, const side& h, const side& w, int top, int left) {
    if (top + Size <= 0 || top >= h.in || left + Size <= 0 || left >= w.in) {
        return -1;
    }
    float values[Size * Size];
    for (int k = 0; k < Size * Size; ++k) {
        const T* row = x + h.nearest(top + k / Size) * w.in;
        values[k] = row[w.nearest(left + k % Size)];
    }
    int best = 0;
    float largest = values[0];
    for (int k = 1; k < Size * Size; ++k) {
        if (values[k] > largest || values[k] != values[k]) {
            best = k;
            largest = values[k];
        }
    }
    return h.nearest(top + best / Size) * w.in + w.nearest(left + best % Size);
}

/// i / n, where i * n < 2^31 and `factor` is 2^31 / n + 1.
__device__ inline int quotient(int i, long long factor) {
    return static_cast<int>(static_cast<unsigned long long>(2u * i) * static_cast<unsigned>(factor) >> 32);
}

/// The windows that cover element `x`: the first and, in the upper half, the one behind the last, counted from window
/// `from` on.
__device__ inline unsigned covering(const side& s, int x, int from) {
    const int end = s.begun(x + 1);
    int o = s.begun(s.before(x));
    while (o < end && (x - s.first - o * s.stride) % s.dilation != 0) {
        ++o;
    }
    return o < end ? static_cast<unsigned>(o - from) | static_cast<unsigned>(end - from) << 16 : 0;
}

struct alignas(8) pooled {
    int place; ///< of the maximum, from the block's first plane on
    float dy; ///< what the element there, or in an average each element, gets
};

/// The elements of a block, the windows that touch it, and its planes.
struct pool_block {
    side h, w;
    int top, left, bottom, right;
    int first_row, first_column; ///< windows
    long long first_plane;
    int planes;
};

__device__ inline pool_block own_block(const pool_numbers& n) {
    pool_block b;
    b.h = side_of(n, 0);
    b.w = side_of(n, 1);
    const unsigned along_columns = static_cast<unsigned>(n.blocks[1]);
    const unsigned along_rows = static_cast<unsigned>(n.blocks[0]);
    const unsigned band = blockIdx.x / along_columns;
    const unsigned group = band / along_rows;
    const int tall = static_cast<int>(n.block[0]);
    const int broad = static_cast<int>(n.block[1]);
    b.top = static_cast<int>(band - group * along_rows) * tall;
    b.left = static_cast<int>(blockIdx.x - band * along_columns) * broad;
    b.bottom = smaller(b.top + tall, b.h.in);
    b.right = smaller(b.left + broad, b.w.in);
    b.first_row = b.h.begun(b.h.before(b.top));
    b.first_column = b.w.begun(b.w.before(b.left));
    b.first_plane = group * n.block_planes;
    const long long planes_left = n.planes - b.first_plane;
    b.planes = static_cast<int>(planes_left < n.block_planes ? planes_left : n.block_planes);
    return b;
}

/// What each window that touches the block gives, and to which element.
template <bool Average, class T>
__device__ void find_pooled(const given<pool_numbers>& a, const pool_block& b, pooled* found) {
    const side& h = b.h;
    const side& w = b.w;
    const T* x = pointer<const T>(a, 0) + b.first_plane * (h.in * w.in);
    const T* dy = pointer<const T>(a, Average ? 0 : 1) + b.first_plane * (h.out * w.out);
    const int high = static_cast<int>(a.n.windows[0]);
    const int wide = static_cast<int>(a.n.windows[1]);
    const int stack = static_cast<int>(a.n.stack[1]);
    const int stacks = static_cast<int>(a.n.stacks[1]);
    const int windows_down = h.begun(b.bottom) - b.first_row;
    const int windows_across = w.begun(b.right) - b.first_column;
    const int square = h.dilation == 1 && w.dilation == 1 && h.size == w.size ? h.size : 0;
    const int threads = static_cast<int>(blockDim.x);
    for (int i = static_cast<int>(threadIdx.x); i < b.planes * stacks * wide; i += threads) {
        const int line = quotient(i, a.n.factors[1].columns);
        const int plane = quotient(line, a.n.factors[1].stacks);
        const int column = i - line * wide;
        const int begin = (line - plane * stacks) * stack;
        const int end = column < windows_across ? smaller(begin + stack, windows_down) : 0;
        const int start = plane * (h.in * w.in);
        const int v = w.first + (b.first_column + column) * w.stride;
        const T* from = dy + static_cast<long long>(plane) * (h.out * w.out) + (b.first_column + column);
        pooled* to = found + plane * high * wide + column;
        for (int row = begin; row < end; ++row) {
            const int y = h.first + (b.first_row + row) * h.stride;
            const float g = from[(b.first_row + row) * w.out];
            if (Average) {
                to[row * wide].dy = g / divisor(a.n, h, w, y, v);
            } else {
                const int place = square == 3   ? first_of_square<3>(x + start, h, w, y, v)
                                  : square == 2 ? first_of_square<2>(x + start, h, w, y, v)
                                                : first_maximum(x + start, h, w, y, v);
                to[row * wide] = {start + place, g};
            }
        }
    }
}

/// For every element of the block the sum over the windows that cover it, in row-major order of the windows.
template <bool Average, class T>
__device__ void sum_pooled(const given<pool_numbers>& a, const pool_block& b, const pooled* found,
                           const unsigned* rows, const unsigned* columns) {
    T* dx = pointer<T>(a, Average ? 1 : 2) + b.first_plane * (b.h.in * b.w.in);
    const int broad = static_cast<int>(a.n.block[1]);
    const int high = static_cast<int>(a.n.windows[0]);
    const int wide = static_cast<int>(a.n.windows[1]);
    const int step_row = static_cast<int>(a.n.step[0]);
    const int step = static_cast<int>(a.n.step[1]);
    const int stack = static_cast<int>(a.n.stack[0]);
    const int stacks = static_cast<int>(a.n.stacks[0]);
    const int threads = static_cast<int>(blockDim.x);
    for (int i = static_cast<int>(threadIdx.x); i < b.planes * stacks * broad; i += threads) {
        const int line = quotient(i, a.n.factors[0].columns);
        const int plane = quotient(line, a.n.factors[0].stacks);
        const int column = i - line * broad;
        const int begin = (line - plane * stacks) * stack;
        const int end = b.left + column < b.right ? smaller(begin + stack, b.bottom - b.top) : begin;
        const unsigned along_w = begin < end ? columns[column] : 0;
        const int first_w = static_cast<int>(along_w & 0xffffu);
        const int end_w = static_cast<int>(along_w >> 16);
        const pooled* of_plane = found + plane * high * wide;
        int place = plane * (b.h.in * b.w.in) + (b.top + begin) * b.w.in + b.left + column;
        for (int row = begin; row < end; ++row) {
            const unsigned along_h = rows[row];
            float sum = 0.0f;
            for (int r = static_cast<int>(along_h & 0xffffu); r < static_cast<int>(along_h >> 16); r += step_row) {
                const pooled* from = of_plane + r * wide;
                for (int s = first_w; s < end_w; s += 2 * step) { // two at once
                    const bool has_second = s + step < end_w;
                    const pooled one = from[s];
                    const pooled two = from[has_second ? s + step : s];
                    sum = Average || one.place == place ? sum + one.dy : sum;
                    sum = has_second && (Average || two.place == place) ? sum + two.dy : sum;
                }
            }
            dx[place] = sum;
            place += b.w.in;
        }
    }
}

template <bool Average, class T>
__device__ void pool_block_backward(const given<pool_numbers>& a) {
    __shared__ pooled found[2048]; // most_pool_windows
    __shared__ unsigned rows[256]; // most_pool_side
    __shared__ unsigned columns[256];
    const pool_block b = own_block(a.n);
    const int threads = static_cast<int>(blockDim.x);
    const int thread = static_cast<int>(threadIdx.x);
    for (int i = thread; i < b.bottom - b.top; i += threads) {
        rows[i] = covering(b.h, b.top + i, b.first_row);
    }
    for (int i = thread; i < b.right - b.left; i += threads) {
        columns[i] = covering(b.w, b.left + i, b.first_column);
    }
    find_pooled<Average, T>(a, b, found);
    __syncthreads();
    sum_pooled<Average, T>(a, b, found, rows, columns);
}

/// at: x, dy, dx.
template <class T>
__device__ void pool_maximum_backward_of(const given<pool_numbers>& a) {
    pool_block_backward<false, T>(a);
}
TYPED_KERNEL(pool_maximum_backward, pool_numbers)

/// at: dy, dx.
template <class T>
__device__ void pool_average_backward_of(const given<pool_numbers>& a) {
    pool_block_backward<true, T>(a);
}
TYPED_KERNEL(pool_average_backward, pool_numbers)

/// The gradient of a global average: every element of a plane gets the plane's number. at: dy, dx.
template <class T>
__device__ void spread_of(const given<spread_numbers, spread_reals>& a) {
    const T* dy = pointer<const T>(a, 0);
    T* dx = pointer<T>(a, 1);
    const float scale = static_cast<float>(a.f.scale);
    for (long long i = first_index(); i < a.n.count; i += index_step()) {
        dx[i] = dy[i / a.n.plane] * scale;
    }
}
TYPED_KERNEL(spread, spread_numbers, spread_reals)

)
// clang-format on

} // namespace tessera::cuda::kernels

namespace tessera::cuda::detail {

/// The numbers of the kernels above, but for those of blocks.
kernels::pool_numbers pool_numbers_of(const shard_call& s, const window_place& w, bool average);

/// Whether all places in a plane, and where windows begin and end, fit 32 bits.
bool has_small_planes(const kernels::pool_numbers& n);

inline constexpr index_t most_pool_windows = 2048; ///< that touch a block
inline constexpr index_t most_pool_side = 256;     ///< of rows, and of columns, of a block

/// Adds the numbers of blocks, of at least so many elements where there are as many. They are large, so that few
/// windows touch two of them, but where that would leave a GPU idle. Returns how many there are, 0 where none can be
/// made.
index_t cut_pool(kernels::pool_numbers& n, index_t least = 512);

/// The kernel of images by blocks, or that of volumes.
void pool_backward(const shard_call& s, const window_place& w, bool average, const kernel& of_images,
                   const kernel& of_volumes, std::vector<memory_use> memory);

void pool_forward(const shard_call& s, bool average);

inline void max_pool_forward(const shard_call& s) { pool_forward(s, false); }
inline void average_pool_forward(const shard_call& s) { pool_forward(s, true); }

/// Kernels of our own: cuDNN's need the output, which the plan has freed, and do not say which of several maxima they
/// take.
void max_pool_backward(const shard_call& s);

void average_pool_backward(const shard_call& s);

/// One window that is the whole tile, scaled from the tile's mean to its part of the plane's. The planes of a volume
/// are rows of one image.
void global_pool_forward(const shard_call& s);

void global_pool_backward(const shard_call& s);

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

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/pooling.inl"
#endif

#include "tessera/base/end_header.inl"
