// SPDX-License-Identifier: Apache-2.0
// Pooling in the blocked format. See vector.hpp.

/// The part of a window that lies inside the input, along one dimension.
struct clipped_window {
    int begin, end; ///< window elements
    int at;         ///< input element of window element 0
};
[[nodiscard]] inline clipped_window clip_window(int out, int window, int stride, int pad, int extent) noexcept {
    const int at = out * stride - pad;
    return {detail::largest(0, -at), detail::smallest(window, extent - at), at};
}

[[gnu::always_inline]] inline void store_bytes(std::uint8_t* p, ivec v) noexcept {
    *reinterpret_cast<bytes_unaligned*>(p) = __builtin_convertvector(v, bytes);
}
[[gnu::always_inline]] inline ivec load_bytes(const std::uint8_t* p) noexcept {
    return __builtin_convertvector(bytes(*reinterpret_cast<const bytes_unaligned*>(p)), ivec);
}

/// Two by two windows that tile the input, the usual case.
[[nodiscard]] inline bool halves(const pool_shape& s) noexcept {
    return s.window_h == 2 && s.window_w == 2 && s.stride_h == 2 && s.stride_w == 2 && s.pad_top == 0 &&
           s.pad_left == 0 && 2 * s.out_height <= s.in_height && 2 * s.out_width <= s.in_width;
}

inline void max_pool_forward_halves(const float* x, float* y, std::uint8_t* winner, const pool_shape& s,
                                    bool relu) noexcept {
    const std::ptrdiff_t line = std::ptrdiff_t{s.in_width} * block_samples;
    for (int p = 0; p < s.planes; ++p)
        for (int h = 0; h < s.out_height; ++h) {
            const float* in = x + (std::ptrdiff_t{p} * s.in_height + 2 * h) * line;
            const std::ptrdiff_t to = (std::ptrdiff_t{p} * s.out_height + h) * s.out_width * block_samples;
            for (int i = 0; i < s.out_width * block_samples; i += width) {
                const float* at = in + i / block_samples * 2 * block_samples + i % block_samples;
                const vec a = load(at), b = load(at + block_samples), c = load(at + line),
                          d = load(at + line + block_samples);
                const ivec right = b > a, lower_right = d > c;
                const vec top = right ? b : a, bottom = lower_right ? d : c;
                const ivec lower = bottom > top;
                const vec best = lower ? bottom : top;
                store(y + to + i, relu ? positive(best) : best);
                if (winner != nullptr) store_bytes(winner + to + i, lower ? 2 - lower_right : -right);
            }
        }
}

inline void max_pool_forward(const float* x, float* y, std::uint8_t* winner, const pool_shape& s, bool relu) noexcept {
    if (halves(s)) return max_pool_forward_halves(x, y, winner, s, relu);
    for (int p = 0; p < s.planes; ++p)
        for (int h = 0; h < s.out_height; ++h) {
            const clipped_window rows = clip_window(h, s.window_h, s.stride_h, s.pad_top, s.in_height);
            for (int w = 0; w < s.out_width; ++w) {
                const clipped_window columns = clip_window(w, s.window_w, s.stride_w, s.pad_left, s.in_width);
                const std::ptrdiff_t to = ((std::ptrdiff_t{p} * s.out_height + h) * s.out_width + w) * block_samples;
                for (int part = 0; part < block_samples; part += width) {
                    vec best{};
                    ivec index{};
                    bool empty = true;
                    for (int i = rows.begin; i < rows.end; ++i)
                        for (int j = columns.begin; j < columns.end; ++j) {
                            const vec v =
                                load(x +
                                     ((std::ptrdiff_t{p} * s.in_height + rows.at + i) * s.in_width + columns.at + j) *
                                         block_samples +
                                     part);
                            const ivec here = ivec{} + (i * s.window_w + j);
                            const ivec wins = empty ? ivec{} - 1 : ivec(v > best);
                            best = wins ? v : best;
                            index = wins ? here : index;
                            empty = false;
                        }
                    store(y + to + part, relu ? positive(best) : best);
                    if (winner != nullptr) store_bytes(winner + to + part, index);
                }
            }
        }
}

inline void max_pool_backward(const float* dy, const std::uint8_t* winner, float* dx, const pool_shape& s) noexcept {
    const bool tiles = halves(s) && 2 * s.out_height == s.in_height && 2 * s.out_width == s.in_width;
    if (!tiles)
        std::memset(dx, 0,
                    sizeof(float) * block_samples * detail::size(s.planes) * detail::size(s.in_height) *
                        detail::size(s.in_width));
    for (int p = 0; p < s.planes; ++p)
        for (int h = 0; h < s.out_height; ++h) {
            const clipped_window rows = clip_window(h, s.window_h, s.stride_h, s.pad_top, s.in_height);
            for (int w = 0; w < s.out_width; ++w) {
                const clipped_window columns = clip_window(w, s.window_w, s.stride_w, s.pad_left, s.in_width);
                const std::ptrdiff_t from = ((std::ptrdiff_t{p} * s.out_height + h) * s.out_width + w) * block_samples;
                float* const to =
                    dx + ((std::ptrdiff_t{p} * s.in_height + rows.at) * s.in_width + columns.at) * block_samples;
                for (int part = 0; part < block_samples; part += width) {
                    const vec v = load(dy + from + part);
                    const ivec index = load_bytes(winner + from + part);
                    if (tiles) {
                        store(to + part, index == 0 ? v : vec{});
                        store(to + block_samples + part, index == 1 ? v : vec{});
                        float* const below = to + std::ptrdiff_t{s.in_width} * block_samples;
                        store(below + part, index == 2 ? v : vec{});
                        store(below + block_samples + part, index == 3 ? v : vec{});
                        continue;
                    }
                    for (int i = rows.begin; i < rows.end; ++i)
                        for (int j = columns.begin; j < columns.end; ++j) {
                            float* const at = to + (std::ptrdiff_t{i} * s.in_width + j) * block_samples + part;
                            store(at, load(at) + (index == i * s.window_w + j ? v : vec{}));
                        }
                }
            }
        }
}

/// One over the elements that an average divides by.
[[nodiscard]] inline float averaging(const pool_shape& s, const clipped_window& rows, const clipped_window& columns,
                                     bool count_padding) noexcept {
    const int count = count_padding ? s.window_h * s.window_w : (rows.end - rows.begin) * (columns.end - columns.begin);
    return 1.0F / static_cast<float>(count);
}

inline void average_pool_forward(const float* x, float* y, const pool_shape& s, bool count_padding) noexcept {
    for (int p = 0; p < s.planes; ++p)
        for (int h = 0; h < s.out_height; ++h) {
            const clipped_window rows = clip_window(h, s.window_h, s.stride_h, s.pad_top, s.in_height);
            for (int w = 0; w < s.out_width; ++w) {
                const clipped_window columns = clip_window(w, s.window_w, s.stride_w, s.pad_left, s.in_width);
                const vec scale = broadcast(averaging(s, rows, columns, count_padding));
                for (int part = 0; part < block_samples; part += width) {
                    vec sum{};
                    for (int i = rows.begin; i < rows.end; ++i)
                        for (int j = columns.begin; j < columns.end; ++j)
                            sum +=
                                load(x +
                                     ((std::ptrdiff_t{p} * s.in_height + rows.at + i) * s.in_width + columns.at + j) *
                                         block_samples +
                                     part);
                    store(y + ((std::ptrdiff_t{p} * s.out_height + h) * s.out_width + w) * block_samples + part,
                          sum * scale);
                }
            }
        }
}

inline void average_pool_backward(const float* dy, float* dx, const pool_shape& s, bool count_padding) noexcept {
    std::memset(dx, 0,
                sizeof(float) * block_samples * detail::size(s.planes) * detail::size(s.in_height) *
                    detail::size(s.in_width));
    for (int p = 0; p < s.planes; ++p)
        for (int h = 0; h < s.out_height; ++h) {
            const clipped_window rows = clip_window(h, s.window_h, s.stride_h, s.pad_top, s.in_height);
            for (int w = 0; w < s.out_width; ++w) {
                const clipped_window columns = clip_window(w, s.window_w, s.stride_w, s.pad_left, s.in_width);
                const vec scale = broadcast(averaging(s, rows, columns, count_padding));
                for (int part = 0; part < block_samples; part += width) {
                    const vec v =
                        scale *
                        load(dy + ((std::ptrdiff_t{p} * s.out_height + h) * s.out_width + w) * block_samples + part);
                    for (int i = rows.begin; i < rows.end; ++i)
                        for (int j = columns.begin; j < columns.end; ++j) {
                            float* const at =
                                dx +
                                ((std::ptrdiff_t{p} * s.in_height + rows.at + i) * s.in_width + columns.at + j) *
                                    block_samples +
                                part;
                            store(at, load(at) + v);
                        }
                }
            }
        }
}
