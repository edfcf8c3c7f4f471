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

using formulas::update_numbers;
TESSERA_UPDATE_FORMULAS([[gnu::always_inline]] inline)

[[gnu::always_inline]] inline update_numbers<vec> in_all_lanes(const update_numbers<float>& n) noexcept {
    return {broadcast(n.rate),  broadcast(n.decay),  broadcast(n.shrink), broadcast(n.momentum), broadcast(n.beta1),
            broadcast(n.rest1), broadcast(n.beta2),  broadcast(n.rest2),  broadcast(n.root),     broadcast(n.epsilon),
            broadcast(n.limit), broadcast(n.fading), broadcast(n.trust),  broadcast(n.unbiased), broadcast(n.pull)};
}

/// All bits where a weight is -0, which has been pruned.
[[gnu::always_inline]] inline ivec where_pruned(vec weights) noexcept {
    ivec bits{};
    std::memcpy(&bits, &weights, sizeof(bits));
    return bits == ivec{} + std::numeric_limits<std::int32_t>::min();
}

/// More: clipping, averages and pruned weights, or some of these. (Without, there are registers for what is left.)
template <class Formula, bool More>
bool update_loop(const update_arrays& given, const update_step_numbers& step) noexcept {
    const update_arrays a = given; // stores of vectors might change what is referred to
    const update_numbers<vec> n = in_all_lanes(step.numbers);
    const vec scale_by = broadcast(step.gradient_scale);
    const bool clips = step.numbers.limit > 0, averages = step.averages, prunes = step.prunes;
    float* states[Formula::states + 1];
    for (int k = 0; k <= Formula::states; ++k) states[k] = a.states + k * a.state_step;
    ivec finite = ivec{} - 1;
    for (std::ptrdiff_t i = 0; i < a.count; i += width) {
        const std::ptrdiff_t live = a.count - i;
        const vec w = load_some(a.weights + i, live, 0.0F);
        vec g = sum_at(a.gradients, a.gradient_count, i, live) * scale_by;
        if (More && clips) g = between(g, -n.limit, n.limit);
        vec old[Formula::states + 1], s[Formula::states + 1];
        // No loops: g++ would keep the arrays in memory.
        for (int k = 0; k < (Formula::states == 1 ? 1 : 0); ++k) s[k] = old[k] = load_some(states[k] + i, live, 0.0F);
        if constexpr (Formula::states > 1) s[0] = old[0] = load_some(states[0] + i, live, 0.0F);
        if constexpr (Formula::states > 1) s[1] = old[1] = load_some(states[1] + i, live, 0.0F);
        if constexpr (Formula::states > 2) s[2] = old[2] = load_some(states[2] + i, live, 0.0F);
        vec result = Formula::step(w, g, s, n);
        if (More && prunes) result = result + vec{}; // never -0
        vec differences = result - result;           // NOLINT(misc-redundant-expression): tells what is not finite
        for (int k = 0; k < (Formula::states == 1 ? 1 : 0); ++k)
            differences = differences + (s[k] - s[k]); // NOLINT(misc-redundant-expression)
        if constexpr (Formula::states > 1)
            differences = differences + (s[0] - s[0]); // NOLINT(misc-redundant-expression)
        if constexpr (Formula::states > 1)
            differences = differences + (s[1] - s[1]); // NOLINT(misc-redundant-expression)
        if constexpr (Formula::states > 2)
            differences = differences + (s[2] - s[2]); // NOLINT(misc-redundant-expression)
        ivec here = where_finite(differences, live);
        const ivec pruned = More && prunes ? where_pruned(w) : ivec{};
        finite &= here | pruned;
        here &= ~pruned;
        const vec chosen = here ? result : w;
        for (int k = 0; k < (Formula::states == 1 ? 1 : 0); ++k) store_some(states[k] + i, here ? s[k] : old[k], live);
        if constexpr (Formula::states > 1) store_some(states[0] + i, here ? s[0] : old[0], live);
        if constexpr (Formula::states > 1) store_some(states[1] + i, here ? s[1] : old[1], live);
        if constexpr (Formula::states > 2) store_some(states[2] + i, here ? s[2] : old[2], live);
        if (More && averages) {
            const vec average = load_some(states[Formula::states] + i, live, 0.0F);
            store_some(states[Formula::states] + i, average + n.fading * (chosen - average), live);
        }
        for (int j = 0; j < a.destination_count; ++j) store_some(a.destinations[j] + i, chosen, live);
    }
    return all_set(finite);
}

template <class Formula>
bool update_by(const update_arrays& a, const update_step_numbers& step) noexcept {
    return step.averages || step.prunes || step.numbers.limit > 0 ? update_loop<Formula, true>(a, step)
                                                                  : update_loop<Formula, false>(a, step);
}

inline bool update(update_formula which, const update_arrays& a, const update_step_numbers& step) noexcept {
    switch (which) {
    case update_formula::sgd:
        return update_by<sgd_formula<false, false>>(a, step);
    case update_formula::momentum:
        return update_by<sgd_formula<true, false>>(a, step);
    case update_formula::nesterov:
        return update_by<sgd_formula<true, true>>(a, step);
    case update_formula::adam:
        return update_by<adam_formula<false>>(a, step);
    case update_formula::adamw:
        return update_by<adam_formula<true>>(a, step);
    case update_formula::rmsprop:
        return update_by<rmsprop_formula<false, false>>(a, step);
    case update_formula::rmsprop_momentum:
        return update_by<rmsprop_formula<false, true>>(a, step);
    case update_formula::rmsprop_centered:
        return update_by<rmsprop_formula<true, false>>(a, step);
    case update_formula::lars:
        return update_by<sgd_formula<false, false, true>>(a, step);
    case update_formula::lars_momentum:
        return update_by<sgd_formula<true, false, true>>(a, step);
    case update_formula::lars_nesterov:
        return update_by<sgd_formula<true, true, true>>(a, step);
    case update_formula::rmsprop_centered_momentum:
        break;
    }
    return update_by<rmsprop_formula<true, true>>(a, step);
}

/// `Kept`: how many states the formula measures with.
template <class Formula, int Kept>
update_squares squares_by(const update_arrays& given, const update_step_numbers& step) noexcept {
    const update_arrays a = given;
    const update_numbers<vec> n = in_all_lanes(step.numbers);
    const vec scale_by = broadcast(step.gradient_scale);
    const bool clips = step.numbers.limit > 0;
    double weights[width] = {}, measured[width] = {};
    for (std::ptrdiff_t i = 0; i < a.count; i += width) {
        const std::ptrdiff_t live = a.count - i;
        const vec w = load_some(a.weights + i, live, 0.0F);
        vec g = sum_at(a.gradients, a.gradient_count, i, live) * scale_by;
        if (clips) g = between(g, -n.limit, n.limit);
        vec s[Kept + 1] = {};
        for (int k = 0; k < Kept; ++k) s[k] = load_some(a.states + k * a.state_step + i, live, 0.0F);
        vec x = Formula::measured(w, g, s, n);
        if (step.prunes) x = where_pruned(w) ? vec{} : x;
        for (int lane = 0; lane < width; ++lane) {
            weights[lane] += static_cast<double>(w[lane]) * static_cast<double>(w[lane]);
            measured[lane] += static_cast<double>(x[lane]) * static_cast<double>(x[lane]);
        }
    }
    update_squares sum;
    for (int lane = 0; lane < width; ++lane) {
        sum.weights += weights[lane];
        sum.measured += measured[lane];
    }
    return sum;
}

inline update_squares squares_of(update_formula which, const update_arrays& a,
                                 const update_step_numbers& step) noexcept {
    return which == update_formula::adamw ? squares_by<adam_formula<true>, 2>(a, step)
                                          : squares_by<sgd_formula<false, false, true>, 0>(a, step);
}
