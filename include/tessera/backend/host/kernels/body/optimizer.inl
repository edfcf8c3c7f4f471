// SPDX-License-Identifier: Apache-2.0
// Optimizer steps. See vector.hpp.

inline void sgd_step(const float* weights, const float* const* gradients, int gradient_count, float* momentum,
                     float* const* destinations, int destination_count, std::ptrdiff_t count,
                     const sgd_rule& rule) noexcept {
    const vec rate = broadcast(rule.learning_rate), decay = broadcast(rule.weight_decay);
    const vec keep = broadcast(rule.momentum), take = broadcast(1.0F - rule.dampening),
              scale_by = broadcast(rule.gradient_scale);
    for (std::ptrdiff_t i = 0; i < count; i += width) {
        const std::ptrdiff_t live = count - i;
        const vec w = load_some(weights + i, live, 0.0F);
        vec g = sum_at(gradients, gradient_count, i, live) * scale_by;
        g = g + decay * w;
        if (momentum != nullptr) {
            const vec velocity = rule.first ? g : keep * load_some(momentum + i, live, 0.0F) + take * g;
            store_some(momentum + i, velocity, live);
            g = rule.nesterov ? g + keep * velocity : velocity;
        }
        const vec result = w - rate * g;
        for (int j = 0; j < destination_count; ++j) store_some(destinations[j] + i, result, live);
    }
}

inline void adam_step(const float* weights, const float* const* gradients, int gradient_count, float* mean,
                      float* square, float* const* destinations, int destination_count, std::ptrdiff_t count,
                      const adam_rule& rule) noexcept {
    const double first = 1.0 - std::pow(static_cast<double>(rule.beta1), rule.step);
    const double second = 1.0 - std::pow(static_cast<double>(rule.beta2), rule.step);
    const vec rate = broadcast(static_cast<float>(static_cast<double>(rule.learning_rate) / first));
    const vec root = broadcast(static_cast<float>(1.0 / std::sqrt(second)));
    const vec b1 = broadcast(rule.beta1), b2 = broadcast(rule.beta2), epsilon = broadcast(rule.epsilon);
    const vec c1 = broadcast(1.0F - rule.beta1), c2 = broadcast(1.0F - rule.beta2);
    const vec decay = broadcast(rule.weight_decay), scale_by = broadcast(rule.gradient_scale);
    for (std::ptrdiff_t i = 0; i < count; i += width) {
        const std::ptrdiff_t live = count - i;
        const vec w = load_some(weights + i, live, 0.0F);
        vec g = sum_at(gradients, gradient_count, i, live) * scale_by;
        g = g + decay * w;
        const vec m = b1 * load_some(mean + i, live, 0.0F) + c1 * g;
        const vec v = b2 * load_some(square + i, live, 0.0F) + c2 * (g * g);
        store_some(mean + i, m, live);
        store_some(square + i, v, live);
        const vec result = w - rate * m / (square_root(v) * root + epsilon);
        for (int j = 0; j < destination_count; ++j) store_some(destinations[j] + i, result, live);
    }
}
