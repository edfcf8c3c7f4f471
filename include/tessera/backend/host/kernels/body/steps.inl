// SPDX-License-Identifier: Apache-2.0
// Nodes of formulas that are known when the program runs, each over some elements; see steps.hpp and vector.hpp.

/// to[i] = f(a[i], b[i], c[i]), four vectors at a time.
template <class Function>
[[gnu::always_inline]] inline void run_step(const node_step& s, float* const* places, std::ptrdiff_t count,
                                            Function f) noexcept {
    const float* const a = places[s.of[0]];
    const float* const b = places[s.of[1]];
    const float* const c = places[s.of[2]];
    float* const to = places[s.to];
    std::ptrdiff_t i = 0;
    for (; i + 4 * width <= count; i += 4 * width) {
        vec v[4];
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) v[k] = f(load(a + i + k * width), load(b + i + k * width), load(c + i + k * width));
#pragma GCC unroll 4
        for (int k = 0; k < 4; ++k) store(to + i + k * width, v[k]);
    }
    for (; i < count; i += width) {
        const std::ptrdiff_t live = count - i;
        store_some(to + i, f(load_some(a + i, live, 1.0F), load_some(b + i, live, 1.0F), load_some(c + i, live, 1.0F)),
                   live);
    }
}

template <expression::opcode What>
struct node_function {
    [[gnu::always_inline]] vec operator()(vec a, vec b, vec c) const noexcept { return node_value<What>(a, b, c); }
};
template <expression::opcode First, expression::opcode Second, bool Swapped>
struct pair_function {
    [[gnu::always_inline]] vec operator()(vec a, vec b, vec c) const noexcept {
        const vec made = node_value<First>(a, b, b);
        return Swapped ? node_value<Second>(c, made, made) : node_value<Second>(made, c, c);
    }
};

/// Places that a step does not read it has equal to one that it does.
inline void run_steps(const node_step* steps, int step_count, float* const* places, std::ptrdiff_t count) noexcept {
    using expression::opcode;
    for (const node_step* s = steps; s < steps + step_count; ++s) {
        switch (s->what) {
#define TESSERA_EXPRESSION_NODE(name, operands, flops)                                                                 \
    case step_code::name:                                                                                              \
        if constexpr ((operands) > 0) {                                                                                \
            run_step(*s, places, count, node_function<opcode::name>{});                                                \
        }                                                                                                              \
        break;
            TESSERA_EXPRESSION_NODES(TESSERA_EXPRESSION_NODE)
#undef TESSERA_EXPRESSION_NODE
#define TESSERA_NODE_PAIR(name, first, second, swapped)                                                                \
    case step_code::name:                                                                                              \
        run_step(*s, places, count, pair_function<opcode::first, opcode::second, (swapped) != 0>{});                   \
        break;
            TESSERA_NODE_PAIRS(TESSERA_NODE_PAIR)
#undef TESSERA_NODE_PAIR
        }
    }
}
