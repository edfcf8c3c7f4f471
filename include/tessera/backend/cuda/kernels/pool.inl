// SPDX-License-Identifier: Apache-2.0
// Windows of shards: any padding on any side, dilation, and gradients that are gathered, so that no two threads add to one element.
// n of all three: planes, rows and columns of the tile of x, rows and columns of that of y, the tile row and column of x at
// which the first window begins (negative: in the padding), strides, dilations, window, then 0 maximum or 1 average, then 1 if
// padding counts. Every element of x that a window covers is in the tile.
// clang-format off
TESSERA_DEVICE_CODE(

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
extern "C" __global__ void pool_forward(arguments a) { pool_forward_of<float>(a); }
extern "C" __global__ void pool_forward_bf16(arguments a) { pool_forward_of<bf16>(a); }

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
extern "C" __global__ void pool_maximum_backward(arguments a) { pool_backward<false, float>(a); }
extern "C" __global__ void pool_maximum_backward_bf16(arguments a) { pool_backward<false, bf16>(a); }
/// at: dy, dx.
extern "C" __global__ void pool_average_backward(arguments a) { pool_backward<true, float>(a); }
extern "C" __global__ void pool_average_backward_bf16(arguments a) { pool_backward<true, bf16>(a); }

)
// clang-format on
