// SPDX-License-Identifier: Apache-2.0
// Optimizer steps. See vector.hpp.

/// All bits from element `live` on, which is behind an array's end.
[[gnu::noinline]] inline ivec behind(std::ptrdiff_t live) noexcept {
    std::int32_t lanes[width];
    for (int i = 0; i < width; ++i) lanes[i] = i < live ? 0 : -1;
    ivec mask{};
    std::memcpy(&mask, lanes, sizeof(mask));
    return mask;
}
/// All bits where a sum of x - x is 0: where every x is finite.
[[gnu::always_inline]] inline ivec where_finite(vec differences, std::ptrdiff_t live) noexcept {
    const ivec finite = differences == vec{};
    return live >= width ? finite : finite | behind(live);
}
[[gnu::always_inline]] inline bool all_set(ivec mask) noexcept {
    bool all = true;
    for (int i = 0; i < width; ++i) all = all && mask[i] != 0;
    return all;
}

inline bool sgd_step(const float* weights, const float* const* gradients, int gradient_count, float* momentum,
                     float* const* destinations, int destination_count, std::ptrdiff_t count,
                     const sgd_rule& rule) noexcept {
    const vec rate = broadcast(rule.learning_rate), decay = broadcast(rule.weight_decay);
    const vec keep = broadcast(rule.momentum), take = broadcast(1.0F - rule.dampening),
              scale_by = broadcast(rule.gradient_scale);
    ivec finite = ivec{} - 1;
    for (std::ptrdiff_t i = 0; i < count; i += width) {
        const std::ptrdiff_t live = count - i;
        const vec w = load_some(weights + i, live, 0.0F);
        vec g = sum_at(gradients, gradient_count, i, live) * scale_by;
        g = g + decay * w;
        vec old{}, velocity{};
        if (momentum != nullptr) {
            old = load_some(momentum + i, live, 0.0F);
            velocity = rule.first ? g : keep * old + take * g;
            g = rule.nesterov ? g + keep * velocity : velocity;
        }
        const vec result = w - rate * g;
        // NOLINTNEXTLINE(misc-redundant-expression): tells what is not finite
        const ivec here = where_finite((result - result) + (velocity - velocity), live);
        finite &= here;
        if (momentum != nullptr) store_some(momentum + i, here ? velocity : old, live);
        for (int j = 0; j < destination_count; ++j) store_some(destinations[j] + i, here ? result : w, live);
    }
    return all_set(finite);
}

inline bool adam_step(const float* weights, const float* const* gradients, int gradient_count, float* mean,
                      float* square, float* const* destinations, int destination_count, std::ptrdiff_t count,
                      const adam_rule& rule) noexcept {
    const double first = 1.0 - std::pow(static_cast<double>(rule.beta1), rule.step);
    const double second = 1.0 - std::pow(static_cast<double>(rule.beta2), rule.step);
    const vec rate = broadcast(static_cast<float>(static_cast<double>(rule.learning_rate) / first));
    const vec root = broadcast(static_cast<float>(1.0 / std::sqrt(second)));
    const vec b1 = broadcast(rule.beta1), b2 = broadcast(rule.beta2), epsilon = broadcast(rule.epsilon);
    const vec c1 = broadcast(1.0F - rule.beta1), c2 = broadcast(1.0F - rule.beta2);
    const vec decay = broadcast(rule.weight_decay), scale_by = broadcast(rule.gradient_scale);
    ivec finite = ivec{} - 1;
    for (std::ptrdiff_t i = 0; i < count; i += width) {
        const std::ptrdiff_t live = count - i;
        const vec w = load_some(weights + i, live, 0.0F);
        vec g = sum_at(gradients, gradient_count, i, live) * scale_by;
        g = g + decay * w;
        const vec old_m = load_some(mean + i, live, 0.0F), old_v = load_some(square + i, live, 0.0F);
        const vec m = b1 * old_m + c1 * g;
        const vec v = b2 * old_v + c2 * (g * g);
        const vec result = w - rate * m / (square_root(v) * root + epsilon);
        // NOLINTNEXTLINE(misc-redundant-expression): tells what is not finite
        const ivec here = where_finite((result - result) + (m - m) + (v - v), live);
        finite &= here;
        store_some(mean + i, here ? m : old_m, live);
        store_some(square + i, here ? v : old_v, live);
        for (int j = 0; j < destination_count; ++j) store_some(destinations[j] + i, here ? result : w, live);
    }
    return all_set(finite);
}
