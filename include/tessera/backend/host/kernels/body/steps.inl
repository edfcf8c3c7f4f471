// SPDX-License-Identifier: Apache-2.0
// Nodes of formulas that are known when the program runs, each over some elements; see steps.hpp and vector.hpp.

template <expression::opcode What>
[[gnu::always_inline]] inline void run_step(const node_step& s, float* const* places, std::ptrdiff_t count) noexcept {
    constexpr int operands = expression::operands_of(What);
    const float* const a = places[s.of[0]];
    const float* const b = operands > 1 ? places[s.of[1]] : a;
    const float* const c = operands > 2 ? places[s.of[2]] : a;
    float* const to = places[s.to];
    std::ptrdiff_t i = 0;
    for (; i + width <= count; i += width) store(to + i, node_value<What>(load(a + i), load(b + i), load(c + i)));
    if (i < count) {
        const std::ptrdiff_t live = count - i;
        store_tail(to + i,
                   node_value<What>(load_tail(a + i, live, 1.0F), load_tail(b + i, live, 1.0F),
                                    load_tail(c + i, live, 1.0F)),
                   live);
    }
}

inline void run_steps(const node_step* steps, int step_count, float* const* places, std::ptrdiff_t count) noexcept {
    using expression::opcode;
    for (const node_step* s = steps; s < steps + step_count; ++s) {
        switch (s->what) {
#define TESSERA_EXPRESSION_NODE(name, operands, flops)                                                                 \
    case opcode::name:                                                                                                 \
        if constexpr (operands > 0) {                                                                                  \
            run_step<opcode::name>(*s, places, count);                                                                 \
        }                                                                                                              \
        break;
            TESSERA_EXPRESSION_NODES(TESSERA_EXPRESSION_NODE)
#undef TESSERA_EXPRESSION_NODE
        }
    }
}
