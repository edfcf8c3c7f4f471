// SPDX-License-Identifier: Apache-2.0
// Plain arrays, element by element. See vector.hpp.

/// The last elements of an array as one vector, filled up with `fill`; and the way back.
[[gnu::noinline]] inline vec load_tail(const float* p, std::ptrdiff_t live, float fill) noexcept {
    float lanes[width];
    store(lanes, broadcast(fill));
    std::memcpy(lanes, p, to_size(live) * sizeof(float));
    return load(lanes);
}
[[gnu::noinline]] inline void store_tail(float* p, vec v, std::ptrdiff_t live) noexcept {
    float lanes[width];
    store(lanes, v);
    std::memcpy(p, lanes, to_size(live) * sizeof(float));
}

/// One vector of an array of which `live` elements are left.
[[gnu::always_inline]] inline vec load_some(const float* p, std::ptrdiff_t live, float fill) noexcept {
    return live >= width ? load(p) : load_tail(p, live, fill);
}
[[gnu::always_inline]] inline void store_some(float* p, vec v, std::ptrdiff_t live) noexcept {
    if (live >= width)
        store(p, v);
    else
        store_tail(p, v, live);
}

/// out[i] = f(a[i]); out may be the input.
template <class Function>
[[gnu::always_inline]] inline void map(const float* a, float* out, std::ptrdiff_t count, Function f) noexcept {
    for (std::ptrdiff_t i = 0; i < count; i += width)
        store_some(out + i, f(load_some(a + i, count - i, 1.0F)), count - i);
}
struct scaled {
    float factor;
    [[gnu::always_inline]] vec operator()(vec x) const noexcept { return x * broadcast(factor); }
};
inline void scale(const float* x, float factor, float* y, std::ptrdiff_t count) noexcept {
    map(x, y, count, scaled{factor});
}
/// The sum of several arrays at one place, in the order of the list.
[[gnu::always_inline]] inline vec sum_at(const float* const* sources, int source_count, std::ptrdiff_t i,
                                         std::ptrdiff_t live) noexcept {
    vec sum = load_some(sources[0] + i, live, 0.0F);
    for (int k = 1; k < source_count; ++k) sum += load_some(sources[k] + i, live, 0.0F);
    return sum;
}

inline void sum_arrays(const float* const* sources, int source_count, float* const* destinations, int destination_count,
                       std::ptrdiff_t count) noexcept {
    constexpr std::ptrdiff_t step = 4 * width;
    std::ptrdiff_t i = 0;
    for (; i + step <= count; i += step) {
        vec sum[4];
        for (int v = 0; v < 4; ++v) sum[v] = load(sources[0] + i + v * width);
        for (int k = 1; k < source_count; ++k)
            for (int v = 0; v < 4; ++v) sum[v] += load(sources[k] + i + v * width);
        for (int j = 0; j < destination_count; ++j)
            for (int v = 0; v < 4; ++v) store(destinations[j] + i + v * width, sum[v]);
    }
    for (; i < count; i += width) {
        const vec sum = sum_at(sources, source_count, i, count - i);
        for (int j = 0; j < destination_count; ++j) store_some(destinations[j] + i, sum, count - i);
    }
}

inline double sum_of_squares(const float* x, std::ptrdiff_t count) noexcept {
    constexpr int lanes = width / 2;
    dvec sum[4] = {};
    std::ptrdiff_t i = 0;
    for (; i + 4 * lanes <= count; i += 4 * lanes)
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) {
            const dvec d =
                __builtin_convertvector(half(*reinterpret_cast<const half_unaligned*>(x + i + v * lanes)), dvec);
            sum[v] += d * d;
        }
    const dvec all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    double total = 0;
    for (int lane = 0; lane < lanes; ++lane) total += all[lane];
    for (; i < count; ++i) total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return total;
}
