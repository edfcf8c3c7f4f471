// SPDX-License-Identifier: Apache-2.0
// Parts of a softmax and of its cross-entropy, over one row. See vector.hpp.

/// The largest number; NaN if one is NaN, minus infinity of none.
inline float row_maximum(const float* x, std::ptrdiff_t count) noexcept {
    vec top[2] = {broadcast(-HUGE_VALF), broadcast(-HUGE_VALF)};
    std::ptrdiff_t i = 0;
    for (; i + 2 * width <= count; i += 2 * width)
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) top[v] = larger_of(top[v], load(x + i + v * width));
    for (; i < count; i += width) top[0] = larger_of(top[0], load_some(x + i, count - i, -HUGE_VALF));
    const vec all = larger_of(top[0], top[1]);
    float most = all[0];
    for (int lane = 1; lane < width; ++lane) most = most >= all[lane] || most != most ? most : all[lane];
    return most;
}

/// The sum of e^(x - top); `each`: where they go, or null.
inline float row_exponentials(const float* x, float* each, std::ptrdiff_t count, float top) noexcept {
    long_sum total;
    for (std::ptrdiff_t begin = 0; begin < count; begin += long_sum::most) {
        const std::ptrdiff_t end = count - begin < long_sum::most ? count : begin + long_sum::most;
        vec sum[2] = {};
        std::ptrdiff_t i = begin;
        for (; i + 2 * width <= end; i += 2 * width)
#pragma GCC unroll 2
            for (int v = 0; v < 2; ++v) {
                const vec e = exponential(load(x + i + v * width) - broadcast(top));
                if (each != nullptr) store(each + i + v * width, e);
                sum[v] += e;
            }
        for (; i < end; i += width) {
            const std::ptrdiff_t live = end - i < width ? end - i : width;
            const vec e = exponential(load_some(x + i, live, top) - broadcast(top));
            if (each != nullptr) store_some(each + i, e, live);
            if (live == width) {
                sum[0] += e;
            } else {
                for (std::ptrdiff_t lane = 0; lane < live; ++lane) total.all += static_cast<double>(e[lane]);
            }
        }
        total.add(sum[0], sum[1]);
    }
    return static_cast<float>(total.all);
}

/// y = e^(x - top) * factor; y may be x.
inline void row_softmax(const float* x, float* y, std::ptrdiff_t count, float top, float factor) noexcept {
    for (std::ptrdiff_t i = 0; i < count; i += width) {
        const std::ptrdiff_t live = count - i;
        store_some(y + i, exponential(load_some(x + i, live, 0.0F) - broadcast(top)) * broadcast(factor), live);
    }
}

/// The sum of a * b.
inline float row_product(const float* a, const float* b, std::ptrdiff_t count) noexcept {
    return static_cast<float>(product_of_rows(a, b, count));
}

/// dx = y * (dy - sum).
inline void row_softmax_gradient(const float* y, const float* dy, float* dx, std::ptrdiff_t count, float sum) noexcept {
    for (std::ptrdiff_t i = 0; i < count; i += width) {
        const std::ptrdiff_t live = count - i;
        store_some(dx + i, load_some(y + i, live, 0.0F) * (load_some(dy + i, live, 0.0F) - broadcast(sum)), live);
    }
}
