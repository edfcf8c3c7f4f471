// SPDX-License-Identifier: Apache-2.0
// Recurrences over sequences [N,T,C], unrolled in time: what LSTMs and GRUs have in common.
#pragma once

#include "tessera/net/network.hpp"
#include "tessera/op/concat.hpp"
#include "tessera/op/slice.hpp"

namespace tessera {

namespace detail {

/// Whether an operator makes something even of zeros: it adds a parameter.
constexpr bool adds_to_zeros(const op_attributes& a, const shape& x) {
    if (infer(a, &x, 1).refused) {
        return false; // said where the layer is used
    }
    for (const operand& o : describe(a, &x, 1).operands) {
        if (o.additive) {
            return true;
        }
    }
    return false;
}

/// Cells one on top of the other over the first Steps positions of a sequence: [N,T,C] -> [N,Steps,Hidden of the last cell]. Every step
/// of every cell is an operator of its own for each of its parts; its parameters are those of all steps. Owner is what the user wrote.
template <class Owner, int Steps, class... Cells>
struct unrolled {
    static_assert(Steps >= 1 && sizeof...(Cells) >= 1, "tessera: a recurrence has at least one step and one cell");

    /// Concatenations that put Steps tensors together, at most max_inputs at a time.
    static constexpr int joins() {
        int count = 0;
        for (int n = Steps; n > 1; n = (n + max_inputs - 1) / max_inputs) {
            count += n / max_inputs + (n % max_inputs > 1 ? 1 : 0);
        }
        return count;
    }
    static constexpr int op_count = Steps + (0 + ... + Cells::operators(Steps)) + joins();
    template <int>
    static constexpr auto nth() {
        return identity<Owner>{};
    }
    static constexpr int build(graph_builder& b, int tensor) {
        int x[Steps]{};
        for (int t = 0; t < Steps && !b.refused; ++t) {
            x[t] = b.add_op(slice_at(t, 1), "step", key_of<slice<0, 1, axis<1>>>, false, &tensor, 1);
        }
        (Cells::unroll(b, x, Steps), ...);
        for (int n = Steps; n > 1 && !b.refused; n = (n + max_inputs - 1) / max_inputs) {
            for (int first = 0; first < n; first += max_inputs) {
                const int count = n - first < max_inputs ? n - first : max_inputs;
                x[first / max_inputs] = count == 1 ? x[first]
                                                   : b.add_op(concat_along<1>::attributes, "concat_along",
                                                              key_of<concat_along<1>>, false, x + first, count);
            }
        }
        return b.refused ? -1 : x[0];
    }
};

} // namespace detail

/// Two cells as one: Forward from the first step to the last, Backward from the last to the first; what both make of a step lies side by side in
/// its channels (Schuster and Paliwal 1997).
template <class Forward, class Backward>
struct both_ways {
    struct joined : concat {};

    static constexpr int operators(int steps) { return Forward::operators(steps) + Backward::operators(steps) + steps; }
    static constexpr void unroll(graph_builder& b, int* x, int steps) {
        int* const back = new int[static_cast<std::size_t>(steps)]{};
        for (int t = 0; t < steps; ++t) {
            back[t] = x[steps - 1 - t];
        }
        Forward::unroll(b, x, steps);
        Backward::unroll(b, back, steps);
        for (int t = 0; t < steps && !b.refused; ++t) {
            x[t] = detail::apply_layer<joined>(b, x[t], back[steps - 1 - t]);
        }
        delete[] back;
    }
};

} // namespace tessera
