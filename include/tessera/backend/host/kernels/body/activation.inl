// SPDX-License-Identifier: Apache-2.0
// Functions with an exponential in them. See vector.hpp.

/// e^x to about 2e-7 relative: Cody and Waite's reduction by ln 2 and the Taylor polynomial of degree 7 on
/// |r| <= ln 2 / 2. Below -87.3 the result is zero, above 88.7 infinite, NaN stays NaN.
[[gnu::always_inline]] inline vec exponential(vec x) noexcept {
    const vec lowest = broadcast(-87.33F), highest = broadcast(88.72F);
    vec clipped = x < lowest ? lowest : x;
    clipped = clipped > highest ? highest : clipped;
    const vec magic = broadcast(12582912.0F); // 1.5 * 2^23: adding it rounds to an integer
    const vec rounded = clipped * broadcast(1.44269504F) + magic;
    const vec n = rounded - magic;
    vec r = fma(n, broadcast(-0.693359375F), clipped);
    r = fma(n, broadcast(2.12194440e-4F), r);
    vec p = broadcast(1.0F / 5040);
    p = fma(p, r, broadcast(1.0F / 720));
    p = fma(p, r, broadcast(1.0F / 120));
    p = fma(p, r, broadcast(1.0F / 24));
    p = fma(p, r, broadcast(1.0F / 6));
    p = fma(p, r, broadcast(0.5F));
    p = fma(p, r, broadcast(1.0F));
    p = fma(p, r, broadcast(1.0F));
    // 2^n in two factors, since n = 128 has no finite power.
    const ivec exponent = reinterpret_cast<ivec>(rounded) - 0x4B400000;
    const ivec low = exponent >> 1;
    const vec two_low = reinterpret_cast<vec>((low + 127) << 23);
    const vec two_high = reinterpret_cast<vec>((exponent - low + 127) << 23);
    vec result = p * two_low * two_high;
    result = x < lowest ? vec{} : result;
    result = x > highest ? broadcast(HUGE_VALF) : result;
    return x == x ? result : x; // NOLINT(misc-redundant-expression): false for NaN alone
}

[[gnu::always_inline]] inline vec sigmoid_of(vec x) noexcept {
    return broadcast(1.0F) / (broadcast(1.0F) + exponential(-x));
}

/// tanh: Taylor's series to x^11 below 0.35, 1 - 2 / (e^2x + 1) above.
[[gnu::always_inline]] inline vec tanh_of(vec x) noexcept {
    const vec square = x * x;
    vec p = broadcast(-1382.0F / 155925);
    p = fma(p, square, broadcast(62.0F / 2835));
    p = fma(p, square, broadcast(-17.0F / 315));
    p = fma(p, square, broadcast(2.0F / 15));
    p = fma(p, square, broadcast(-1.0F / 3));
    p = fma(p * square, x, x);
    const vec far = broadcast(1.0F) - broadcast(2.0F) / (exponential(x + x) + broadcast(1.0F));
    return square < broadcast(0.1225F) ? p : far;
}

/// The error function to 2e-7: Abramowitz and Stegun 7.1.26.
[[gnu::always_inline]] inline vec error_function(vec x) noexcept {
    const vec size = x < vec{} ? -x : x;
    const vec t = broadcast(1.0F) / fma(broadcast(0.3275911F), size, broadcast(1.0F));
    vec p = broadcast(1.061405429F);
    p = fma(p, t, broadcast(-1.453152027F));
    p = fma(p, t, broadcast(1.421413741F));
    p = fma(p, t, broadcast(-0.284496736F));
    p = fma(p, t, broadcast(0.254829592F));
    const vec value = broadcast(1.0F) - p * t * exponential(-(x * x));
    return x < vec{} ? -value : value;
}

/// The normal distribution's cumulative probability, and x times it: gelu.
[[gnu::always_inline]] inline vec normal_below(vec x) noexcept {
    return broadcast(0.5F) * (broadcast(1.0F) + error_function(x * broadcast(0.70710678F)));
}

/// One row of softmax cross entropy; the gradient may be the logits.
inline float cross_entropy_row(const float* logits, std::ptrdiff_t label, float* gradient, std::ptrdiff_t classes,
                               float gradient_scale) noexcept {
    const float below = -HUGE_VALF;
    vec top = broadcast(below);
    for (std::ptrdiff_t i = 0; i < classes; i += width) {
        const vec v = load_some(logits + i, classes - i, below);
        top = v > top ? v : top;
    }
    float most = top[0];
    for (int lane = 1; lane < width; ++lane) most = top[lane] > most ? top[lane] : most;
    const float of_label = logits[label];
    vec sums{};
    for (std::ptrdiff_t i = 0; i < classes; i += width) {
        const vec e = exponential(load_some(logits + i, classes - i, below) - broadcast(most));
        sums += e;
        if (gradient != nullptr) store_some(gradient + i, e, classes - i);
    }
    float total = 0;
    for (int lane = 0; lane < width; ++lane) total += sums[lane];
    if (gradient != nullptr) {
        scale(gradient, gradient_scale / total, gradient, classes);
        gradient[label] -= gradient_scale;
    }
    return std::log(total) + (most - of_label);
}

inline void cross_entropy_rows(const float* logits, const std::int32_t* labels, float* losses, float* gradient,
                               std::ptrdiff_t rows, std::ptrdiff_t classes, float gradient_scale) noexcept {
    for (std::ptrdiff_t r = 0; r < rows; ++r)
        losses[r] = cross_entropy_row(logits + r * classes, labels[r],
                                      gradient == nullptr ? nullptr : gradient + r * classes, classes, gradient_scale);
}

/// The same in the blocked format [blocks][classes][16]: every lane is a row. Padding samples get a zero gradient.
inline void cross_entropy_blocked(const float* logits, const std::int32_t* labels, float* losses, float* gradient,
                                  std::ptrdiff_t samples, std::ptrdiff_t classes, float gradient_scale) noexcept {
    for (std::ptrdiff_t first = 0; first < samples; first += block_samples) {
        const float* const block = logits + first * classes;
        for (int part = 0; part < block_samples; part += width) {
            ivec label = ivec{} - 1;
            for (int lane = 0; lane < width; ++lane)
                if (first + part + lane < samples) label[lane] = labels[first + part + lane];
            vec most = load(block + part);
            for (std::ptrdiff_t c = 1; c < classes; ++c) {
                const vec v = load(block + c * block_samples + part);
                most = v > most ? v : most;
            }
            vec total{}, of_label{};
            for (std::ptrdiff_t c = 0; c < classes; ++c) {
                const vec v = load(block + c * block_samples + part);
                const vec e = exponential(v - most);
                of_label = label == static_cast<std::int32_t>(c) ? v : of_label;
                total += e;
                if (gradient != nullptr) store(gradient + first * classes + c * block_samples + part, e);
            }
            if (gradient != nullptr) {
                const vec factor = label >= 0 ? broadcast(gradient_scale) / total : vec{};
                for (std::ptrdiff_t c = 0; c < classes; ++c) {
                    float* const at = gradient + first * classes + c * block_samples + part;
                    const vec hit = label == static_cast<std::int32_t>(c) ? broadcast(gradient_scale) : vec{};
                    store(at, load(at) * factor - hit);
                }
            }
            for (int lane = 0; lane < width; ++lane)
                if (first + part + lane < samples)
                    losses[first + part + lane] = std::log(total[lane]) + (most[lane] - of_label[lane]);
        }
    }
}
