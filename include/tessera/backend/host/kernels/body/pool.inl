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

/// The windows of all outputs, in their order. A value through and through, so that it stays in registers whatever
/// vectors are stored.
struct window_walk {
    pool_shape s;
    int plane = 0, d = 0, h = 0, w = 0;
    std::ptrdiff_t out = 0; ///< number of the output
    clipped_window deep, rows, columns;

    [[gnu::always_inline]] explicit window_walk(const pool_shape& of) noexcept
        : s(of), deep(clip_window(0, s.window_d, s.stride_d, s.pad_front, s.in_depth)),
          rows(clip_window(0, s.window_h, s.stride_h, s.pad_top, s.in_height)),
          columns(clip_window(0, s.window_w, s.stride_w, s.pad_left, s.in_width)) {}
    [[nodiscard]] [[gnu::always_inline]] bool more() const noexcept {
        return plane < s.planes && s.out_width > 0 && s.out_height > 0 && s.out_depth > 0;
    }
    [[gnu::always_inline]] void next() noexcept {
        ++out;
        if (++w == s.out_width) {
            w = 0;
            next_row();
        }
        columns = clip_window(w, s.window_w, s.stride_w, s.pad_left, s.in_width);
    }
    /// The input element of window element 0.
    [[nodiscard]] [[gnu::always_inline]] std::ptrdiff_t first() const noexcept {
        return ((std::ptrdiff_t{plane} * s.in_depth + deep.at) * s.in_height + rows.at) * s.in_width + columns.at;
    }
    /// Where window element (k, i, j) is from there.
    [[nodiscard]] [[gnu::always_inline]] std::ptrdiff_t ahead(int k, int i, int j) const noexcept {
        return (std::ptrdiff_t{k} * s.in_height + i) * s.in_width + j;
    }
    [[nodiscard]] [[gnu::always_inline]] int number(int k, int i, int j) const noexcept {
        return (k * s.window_h + i) * s.window_w + j;
    }

private:
    [[gnu::always_inline]] void next_row() noexcept {
        if (++h == s.out_height) {
            h = 0;
            if (++d == s.out_depth) {
                d = 0;
                ++plane;
            }
            deep = clip_window(d, s.window_d, s.stride_d, s.pad_front, s.in_depth);
        }
        rows = clip_window(h, s.window_h, s.stride_h, s.pad_top, s.in_height);
    }
};

[[nodiscard]] inline std::size_t elements_of_input(const pool_shape& s) noexcept {
    return to_size(s.planes) * to_size(s.in_depth) * to_size(s.in_height) * to_size(s.in_width);
}

[[gnu::always_inline]] inline void store_bytes(std::uint8_t* p, ivec v) noexcept {
    *reinterpret_cast<bytes_unaligned*>(p) = __builtin_convertvector(v, bytes);
}
[[gnu::always_inline]] inline ivec load_bytes(const std::uint8_t* p) noexcept {
    return __builtin_convertvector(bytes(*reinterpret_cast<const bytes_unaligned*>(p)), ivec);
}

/// The bytes of one vector of which `live` elements are left.
[[gnu::always_inline]] inline void store_some_bytes(std::uint8_t* p, ivec v, std::ptrdiff_t live) noexcept {
    if (live >= width) return store_bytes(p, v);
    std::uint8_t lanes[width];
    store_bytes(lanes, v);
    std::memcpy(p, lanes, to_size(live));
}
[[gnu::always_inline]] inline ivec load_some_bytes(const std::uint8_t* p, std::ptrdiff_t live) noexcept {
    if (live >= width) return load_bytes(p);
    std::uint8_t lanes[width] = {};
    std::memcpy(lanes, p, to_size(live));
    return load_bytes(lanes);
}

/// Whether v takes the place of the largest so far: where it is larger, or NaN.
[[gnu::always_inline]] inline ivec takes_over(vec v, vec best) noexcept { return (v > best) | (v != v); } // NOLINT

/// Two by two windows that tile images, the usual case.
[[nodiscard]] inline bool halves(const pool_shape& s) noexcept {
    return s.in_depth == 1 && s.out_depth == 1 && s.window_d == 1 && s.window_h == 2 && s.window_w == 2 &&
           s.stride_h == 2 && s.stride_w == 2 && s.pad_top == 0 && s.pad_left == 0 && 2 * s.out_height <= s.in_height &&
           2 * s.out_width <= s.in_width;
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
                const ivec right = takes_over(b, a), lower_right = takes_over(d, c);
                const vec top = right ? b : a, bottom = lower_right ? d : c;
                const ivec lower = takes_over(bottom, top);
                const vec best = lower ? bottom : top;
                store(y + to + i, relu ? positive(best) : best);
                if (winner != nullptr) store_bytes(winner + to + i, lower ? 2 - lower_right : -right);
            }
        }
}

/// Maxima of elements side by side; Blocked: 16 of them.
template <bool Blocked>
inline void max_pool_forward_lanes(const float* x, float* y, std::uint8_t* winner, const pool_shape& s,
                                   bool relu) noexcept {
    const std::ptrdiff_t lanes = Blocked ? block_samples : s.lanes;
    for (window_walk at(s); at.more(); at.next()) {
        const float* const from = x + at.first() * lanes;
        const std::ptrdiff_t to = at.out * lanes;
        for (std::ptrdiff_t part = 0; part < lanes; part += width) {
            const std::ptrdiff_t live = Blocked ? width : lanes - part;
            vec best{};
            ivec index{};
            bool empty = true;
            for (int k = at.deep.begin; k < at.deep.end; ++k)
                for (int i = at.rows.begin; i < at.rows.end; ++i)
                    for (int j = at.columns.begin; j < at.columns.end; ++j) {
                        const vec v = load_some(from + at.ahead(k, i, j) * lanes + part, live, 0.0F);
                        const ivec here = ivec{} + at.number(k, i, j);
                        const ivec wins = empty ? ivec{} - 1 : takes_over(v, best);
                        best = wins ? v : best;
                        index = wins ? here : index;
                        empty = false;
                    }
            store_some(y + to + part, relu ? positive(best) : best, live);
            if (winner != nullptr) store_some_bytes(winner + to + part, index, live);
        }
    }
}

template <bool Blocked>
inline void max_pool_backward_lanes(const float* dy, const std::uint8_t* winner, float* dx,
                                    const pool_shape& s) noexcept {
    const std::ptrdiff_t lanes = Blocked ? block_samples : s.lanes;
    const bool tiles = halves(s) && 2 * s.out_height == s.in_height && 2 * s.out_width == s.in_width;
    if (!tiles) std::memset(dx, 0, sizeof(float) * to_size(lanes) * elements_of_input(s));
    for (window_walk at(s); at.more(); at.next()) {
        const std::ptrdiff_t from = at.out * lanes;
        float* const to = dx + at.first() * lanes;
        for (std::ptrdiff_t part = 0; part < lanes; part += width) {
            const std::ptrdiff_t live = Blocked ? width : lanes - part;
            const vec v = load_some(dy + from + part, live, 0.0F);
            const ivec index = load_some_bytes(winner + from + part, live);
            if (tiles) {
                store_some(to + part, index == 0 ? v : vec{}, live);
                store_some(to + lanes + part, index == 1 ? v : vec{}, live);
                float* const below = to + s.in_width * lanes;
                store_some(below + part, index == 2 ? v : vec{}, live);
                store_some(below + lanes + part, index == 3 ? v : vec{}, live);
                continue;
            }
            for (int k = at.deep.begin; k < at.deep.end; ++k)
                for (int i = at.rows.begin; i < at.rows.end; ++i)
                    for (int j = at.columns.begin; j < at.columns.end; ++j) {
                        float* const one = to + at.ahead(k, i, j) * lanes + part;
                        store_some(one, load_some(one, live, 0.0F) + (index == at.number(k, i, j) ? v : vec{}), live);
                    }
        }
    }
}

/// Maxima of planes, element by element.
inline void max_pool_forward_planes(const float* x, float* y, std::uint8_t* winner, const pool_shape& s,
                                    bool relu) noexcept {
    for (window_walk at(s); at.more(); at.next()) {
        const float* const from = x + at.first();
        float best = 0;
        int index = -1;
        for (int k = at.deep.begin; k < at.deep.end; ++k)
            for (int i = at.rows.begin; i < at.rows.end; ++i)
                for (int j = at.columns.begin; j < at.columns.end; ++j) {
                    const float v = from[at.ahead(k, i, j)];
                    if (index >= 0 && v <= best) continue;
                    if (index >= 0 && best != best && v == v) continue; // NOLINT(misc-redundant-expression): NaN stays
                    best = v;
                    index = at.number(k, i, j);
                }
        y[at.out] = relu && best <= 0 ? 0 : best;
        if (winner != nullptr) winner[at.out] = static_cast<std::uint8_t>(index);
    }
}

inline void max_pool_backward_planes(const float* dy, const std::uint8_t* winner, float* dx,
                                     const pool_shape& s) noexcept {
    std::memset(dx, 0, sizeof(float) * elements_of_input(s));
    std::ptrdiff_t ahead[largest_pooled]; // from window element 0
    const window_walk first(s);
    for (int k = 0; k < s.window_d; ++k)
        for (int i = 0; i < s.window_h; ++i)
            for (int j = 0; j < s.window_w; ++j) ahead[first.number(k, i, j)] = first.ahead(k, i, j);
    for (window_walk at(s); at.more(); at.next()) dx[at.first() + ahead[winner[at.out]]] += dy[at.out];
}

inline void max_pool_forward(const float* x, float* y, std::uint8_t* winner, const pool_shape& s, bool relu) noexcept {
    if (s.lanes == 1) return max_pool_forward_planes(x, y, winner, s, relu);
    if (s.lanes != block_samples) return max_pool_forward_lanes<false>(x, y, winner, s, relu);
    if (halves(s)) return max_pool_forward_halves(x, y, winner, s, relu);
    return max_pool_forward_lanes<true>(x, y, winner, s, relu);
}

inline void max_pool_backward(const float* dy, const std::uint8_t* winner, float* dx, const pool_shape& s) noexcept {
    if (s.lanes == 1) return max_pool_backward_planes(dy, winner, dx, s);
    if (s.lanes != block_samples) return max_pool_backward_lanes<false>(dy, winner, dx, s);
    return max_pool_backward_lanes<true>(dy, winner, dx, s);
}

/// One over the elements that an average divides by.
[[nodiscard]] inline float averaging(const window_walk& at, bool count_padding) noexcept {
    const pool_shape& s = at.s;
    const int count = count_padding ? s.window_d * s.window_h * s.window_w
                                    : (at.deep.end - at.deep.begin) * (at.rows.end - at.rows.begin) *
                                          (at.columns.end - at.columns.begin);
    return 1.0F / static_cast<float>(count);
}

inline void average_pool_forward(const float* x, float* y, const pool_shape& s, bool count_padding) noexcept {
    for (window_walk at(s); at.more(); at.next()) {
        const float* const from = x + at.first() * block_samples;
        const vec scale = broadcast(averaging(at, count_padding));
        for (int part = 0; part < block_samples; part += width) {
            vec sum{};
            for (int k = at.deep.begin; k < at.deep.end; ++k)
                for (int i = at.rows.begin; i < at.rows.end; ++i)
                    for (int j = at.columns.begin; j < at.columns.end; ++j)
                        sum += load(from + at.ahead(k, i, j) * block_samples + part);
            store(y + at.out * block_samples + part, sum * scale);
        }
    }
}

inline void average_pool_backward(const float* dy, float* dx, const pool_shape& s, bool count_padding) noexcept {
    std::memset(dx, 0, sizeof(float) * block_samples * elements_of_input(s));
    for (window_walk at(s); at.more(); at.next()) {
        float* const to = dx + at.first() * block_samples;
        const vec scale = broadcast(averaging(at, count_padding));
        for (int part = 0; part < block_samples; part += width) {
            const vec v = scale * load(dy + at.out * block_samples + part);
            for (int k = at.deep.begin; k < at.deep.end; ++k)
                for (int i = at.rows.begin; i < at.rows.end; ++i)
                    for (int j = at.columns.begin; j < at.columns.end; ++j) {
                        float* const one = to + at.ahead(k, i, j) * block_samples + part;
                        store(one, load(one) + v);
                    }
        }
    }
}
