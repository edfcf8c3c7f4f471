// SPDX-License-Identifier: Apache-2.0
// Rotary positions. See vector.hpp.

/// Channels 2p and 2p + 1 of a row, by tables that have each pair's cosine twice, and its sine once with a minus.
[[gnu::always_inline]] inline void turn_neighbours(const float* x, float* y, const float* cosine, const float* sine,
                                                   std::ptrdiff_t count, bool back) noexcept {
    for (std::ptrdiff_t i = 0; i < count; i += width) {
        const std::ptrdiff_t live = count - i;
        const vec v = load_some(x + i, live, 0.0F);
        const vec s = load_some(sine + i, live, 0.0F);
        store_some(y + i, fma(swap_neighbours(v), back ? -s : s, v * load_some(cosine + i, live, 0.0F)), live);
    }
}
/// Channels p and p + pairs.
[[gnu::always_inline]] inline void turn_halves(const float* x, float* y, const float* cosine, const float* sine,
                                               std::ptrdiff_t pairs, bool back) noexcept {
    for (std::ptrdiff_t i = 0; i < pairs; i += width) {
        const std::ptrdiff_t live = pairs - i;
        const vec a = load_some(x + i, live, 0.0F);
        const vec b = load_some(x + pairs + i, live, 0.0F);
        const vec c = load_some(cosine + i, live, 0.0F);
        const vec sign = load_some(sine + i, live, 0.0F);
        const vec s = back ? -sign : sign;
        store_some(y + i, fma(-b, s, a * c), live);
        store_some(y + pairs + i, fma(a, s, b * c), live);
    }
}
inline void turn_pairs(const rotary_work& w) noexcept {
    const std::ptrdiff_t row = w.halves ? w.pairs : 2 * w.pairs;
    for (std::ptrdiff_t n = 0; n < w.samples; ++n)
        for (std::ptrdiff_t t = 0; t < w.positions; ++t)
            for (std::ptrdiff_t h = 0; h < w.heads; ++h) {
                const std::ptrdiff_t at = ((n * w.positions + t) * w.heads + h) * 2 * w.pairs;
                if (w.halves)
                    turn_halves(w.from + at, w.to + at, w.cosine + t * row, w.sine + t * row, w.pairs, w.back);
                else
                    turn_neighbours(w.from + at, w.to + at, w.cosine + t * row, w.sine + t * row, 2 * w.pairs, w.back);
            }
}
