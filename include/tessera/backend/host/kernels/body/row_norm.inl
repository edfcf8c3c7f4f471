// SPDX-License-Identifier: Apache-2.0
// Normalizations of rows. See vector.hpp.

/// A sum of many floats: vectors are added up in float, and no more than so many before they go on in double.
struct long_sum {
    static constexpr std::ptrdiff_t most = std::ptrdiff_t{64} * width; // elements

    double all = 0;

    [[gnu::always_inline]] void add(vec a, vec b) noexcept {
        const vec both = a + b;
        for (int lane = 0; lane < width; ++lane) all += static_cast<double>(both[lane]);
    }
};

/// Sums of x and of its squares in double, since a variance is the difference of two such.
[[gnu::always_inline]] inline void moments_of_row(const float* x, std::ptrdiff_t count, double& sum,
                                                  double& squares) noexcept {
    constexpr int lanes = width / 2;
    dvec first[2] = {};
    dvec second[2] = {};
    std::ptrdiff_t i = 0;
    for (; i + 2 * lanes <= count; i += 2 * lanes)
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) {
            const dvec d =
                __builtin_convertvector(half(*reinterpret_cast<const half_unaligned*>(x + i + v * lanes)), dvec);
            first[v] += d;
            second[v] += d * d;
        }
    const dvec one = first[0] + first[1];
    const dvec two = second[0] + second[1];
    sum = 0;
    squares = 0;
    for (int lane = 0; lane < lanes; ++lane) {
        sum += one[lane];
        squares += two[lane];
    }
    for (; i < count; ++i) {
        const auto d = static_cast<double>(x[i]);
        sum += d;
        squares += d * d;
    }
}
/// The sum of a * b.
[[gnu::always_inline]] inline double product_of_rows(const float* a, const float* b, std::ptrdiff_t count) noexcept {
    long_sum total;
    for (std::ptrdiff_t begin = 0; begin < count; begin += long_sum::most) {
        const std::ptrdiff_t end = count - begin < long_sum::most ? count : begin + long_sum::most;
        vec sum[2] = {};
        std::ptrdiff_t i = begin;
        for (; i + 2 * width <= end; i += 2 * width)
#pragma GCC unroll 2
            for (int v = 0; v < 2; ++v) sum[v] = fma(load(a + i + v * width), load(b + i + v * width), sum[v]);
        for (; i < end; i += width)
            sum[0] = fma(load_some(a + i, end - i, 0.0F), load_some(b + i, end - i, 0.0F), sum[0]);
        total.add(sum[0], sum[1]);
    }
    return total.all;
}

struct row_moments {
    float mean, inverse;
};
template <bool Centered>
[[gnu::always_inline]] inline row_moments row_moments_of(const norm_work& w, std::ptrdiff_t r) noexcept {
    const double square = w.squares[r] / w.count;
    if constexpr (Centered) {
        const double mean = w.sums[r] / w.count;
        const double variance = square - mean * mean;
        return {static_cast<float>(mean), static_cast<float>(1 / std::sqrt((variance < 0 ? 0 : variance) + w.epsilon))};
    } else {
        return {0, static_cast<float>(1 / std::sqrt(square + w.epsilon))};
    }
}
template <bool Centered>
[[gnu::always_inline]] inline vec normalized(vec x, vec mean, vec inverse) noexcept {
    if constexpr (Centered) {
        return (x - mean) * inverse;
    } else {
        return x * inverse;
    }
}

template <bool Centered>
void norm_forward(const norm_work& w, bool sums, bool results) noexcept {
    for (std::ptrdiff_t r = 0; r < w.rows; ++r) {
        const float* const x = w.x + r * w.channels;
        if (sums) {
            if constexpr (Centered) {
                moments_of_row(x, w.channels, w.sums[r], w.squares[r]);
            } else {
                w.squares[r] = product_of_rows(x, x, w.channels);
            }
        }
        if (!results) continue;
        const row_moments m = row_moments_of<Centered>(w, r);
        const vec mean = broadcast(m.mean), inverse = broadcast(m.inverse);
        float* const y = w.y + r * w.channels;
        for (std::ptrdiff_t i = 0; i < w.channels; i += width) {
            const std::ptrdiff_t live = w.channels - i;
            vec v =
                normalized<Centered>(load_some(x + i, live, 0.0F), mean, inverse) * load_some(w.gamma + i, live, 0.0F);
            if constexpr (Centered) v += load_some(w.beta + i, live, 0.0F);
            store_some(y + i, v, live);
        }
    }
}

/// One row's parts of the gradients of gamma and beta, and its sums of dy * gamma and dy * gamma * normalized.
template <bool Centered, bool Gamma, bool Beta, bool Sums>
[[gnu::always_inline]] inline void norm_backward_row(const norm_work& w, std::ptrdiff_t r) noexcept {
    const row_moments m = row_moments_of<Centered>(w, r);
    const vec mean = broadcast(m.mean), inverse = broadcast(m.inverse);
    const float* const x = w.x + r * w.channels;
    const float* const dy = w.dy + r * w.channels;
    long_sum first;
    long_sum second;
    for (std::ptrdiff_t begin = 0; begin < w.channels; begin += long_sum::most) {
        const std::ptrdiff_t end = w.channels - begin < long_sum::most ? w.channels : begin + long_sum::most;
        vec one{}, two{};
        for (std::ptrdiff_t i = begin; i < end; i += width) {
            const std::ptrdiff_t live = end - i;
            const vec d = load_some(dy + i, live, 0.0F);
            const vec n = normalized<Centered>(load_some(x + i, live, m.mean), mean, inverse);
            if constexpr (Gamma) store_some(w.dgamma + i, fma(d, n, load_some(w.dgamma + i, live, 0.0F)), live);
            if constexpr (Beta) store_some(w.dbeta + i, load_some(w.dbeta + i, live, 0.0F) + d, live);
            if constexpr (Sums) {
                const vec g = d * load_some(w.gamma + i, live, 0.0F);
                if constexpr (Centered) one += g;
                two = fma(g, n, two);
            }
        }
        if constexpr (Sums) {
            if constexpr (Centered) first.add(one, vec{});
            second.add(two, vec{});
        }
    }
    if constexpr (Sums && Centered) {
        w.dsums[r] = first.all;
        w.dsquares[r] = second.all;
    } else if constexpr (Sums) {
        const auto by = static_cast<double>(m.inverse);
        w.dsquares[r] = -0.5 * by * by * second.all / w.count;
    }
}
template <bool Centered, bool Gamma, bool Beta, bool Sums>
void norm_backward_rows(const norm_work& w) noexcept {
    for (std::ptrdiff_t r = 0; r < w.rows; ++r) norm_backward_row<Centered, Gamma, Beta, Sums>(w, r);
}
template <bool Centered>
void norm_backward_sums(const norm_work& w) noexcept {
    if (w.dgamma != nullptr) std::memset(w.dgamma, 0, to_size(w.channels) * sizeof(float));
    if (w.dbeta != nullptr) std::memset(w.dbeta, 0, to_size(w.channels) * sizeof(float));
    const bool sums = w.emits_sums;
    if (w.dgamma != nullptr && sums) {
        if constexpr (Centered) {
            if (w.dbeta != nullptr) return norm_backward_rows<Centered, true, true, true>(w);
        }
        norm_backward_rows<Centered, true, false, true>(w);
    } else if (w.dgamma != nullptr) {
        norm_backward_rows<Centered, true, false, false>(w);
    } else if (sums) {
        norm_backward_rows<Centered, false, false, true>(w);
    }
    if constexpr (Centered) {
        if (w.dbeta != nullptr) norm_backward_rows<Centered, false, true, false>(w);
    }
}

template <bool Centered>
void norm_backward_input(const norm_work& w) noexcept {
    for (std::ptrdiff_t r = 0; r < w.rows; ++r) {
        const row_moments m = row_moments_of<Centered>(w, r);
        const vec mean = broadcast(m.mean), inverse = broadcast(m.inverse);
        vec first{};
        vec second;
        if constexpr (Centered) {
            first = broadcast(static_cast<float>(w.dsums[r] / w.count));
            second = broadcast(static_cast<float>(w.dsquares[r] / w.count));
        } else {
            second = broadcast(static_cast<float>(2 * w.dsquares[r]));
        }
        const float* const x = w.x + r * w.channels;
        const float* const dy = w.dy + r * w.channels;
        float* const dx = w.dx + r * w.channels;
        for (std::ptrdiff_t i = 0; i < w.channels; i += width) {
            const std::ptrdiff_t live = w.channels - i;
            const vec g = load_some(dy + i, live, 0.0F) * load_some(w.gamma + i, live, 0.0F);
            const vec v = load_some(x + i, live, 0.0F);
            vec made;
            if constexpr (Centered) {
                made = inverse * (g - first - normalized<Centered>(v, mean, inverse) * second);
            } else {
                made = fma(g, inverse, v * second);
            }
            store_some(dx + i, made, live);
        }
    }
}
