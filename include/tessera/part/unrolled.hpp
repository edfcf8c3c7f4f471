// SPDX-License-Identifier: Apache-2.0
// Recurrences over sequences [N,T,C], unrolled in time: what LSTMs and GRUs have in common.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/network.hpp"
#include "tessera/op/concat.hpp"
#include "tessera/op/expression/record.hpp"
#include "tessera/op/length_mask.hpp"
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

/// The state that a recurrence starts from, where its first step needs one.
struct zeros_like : elementwise<zeros_like> {
    static constexpr const char* name = "zeros_like";
    static constexpr auto of(auto x) { return select(x == x, 0, 0); }
};
/// Within a sample's length the next state, behind it the one before.
struct kept_state : elementwise<kept_state> {
    static constexpr const char* name = "kept_state";
    static constexpr auto of(auto mask, auto next, auto before) { return select(mask > 0, next, before); }
};
/// Zeros behind a sample's length.
struct within_length : elementwise<within_length> {
    static constexpr const char* name = "within_length";
    static constexpr auto of(auto mask, auto x) { return select(mask > 0, x, 0); }
};

/// A layer on some tensors.
template <class L, int Count>
constexpr int apply_to(graph_builder& b, const int (&inputs)[Count]) {
    return b.refused ? -1 : b.add_op(L::attributes, name_of_layer<L>(), key_of<L>, false, inputs, Count);
}

/// The states of padded sequences after a step: `before` (-1: zeros) where the step is behind a sample's length.
/// Without a mask they are `next`.
constexpr int kept_within(graph_builder& b, const int* masks, int step, int next, int before) {
    if (masks == nullptr) {
        return next;
    }
    return before < 0 ? apply_to<within_length>(b, {masks[step], next})
                      : apply_to<kept_state>(b, {masks[step], next, before});
}

/// Cells one on top of the other over the first Steps positions of a sequence: [N,T,C] -> [N,Steps,Hidden of the last
/// cell]. Every step of every cell is an operator of its own for each of its parts; its parameters are those of all
/// steps. Owner is what the user wrote.
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
    /// Of padded sequences: the mask and its steps besides, and what the cells add.
    static constexpr int op_count_with_lengths() {
        return 1 + 2 * Steps + (0 + ... + Cells::operators(Steps, true)) + joins();
    }
    template <int>
    static constexpr auto nth() {
        return identity<Owner>{};
    }
    static constexpr int build(graph_builder& b, int tensor) {
        int x[Steps]{};
        take_steps(b, tensor, x);
        (Cells::unroll(b, x, Steps), ...);
        return join(b, x);
    }
    /// Of sequences that are padded at their ends: behind its length [N] a sample keeps its state, and what comes out
    /// is zeros.
    static constexpr int build_with_lengths(graph_builder& b, int tensor, int lengths) {
        int x[Steps]{};
        int masks[Steps]{};
        take_steps(b, apply_layer<length_mask<Steps>>(b, lengths), masks);
        take_steps(b, tensor, x);
        (Cells::unroll(b, x, Steps, masks), ...);
        return join(b, x);
    }

private:
    static constexpr void take_steps(graph_builder& b, int tensor, int (&x)[Steps]) {
        for (int t = 0; t < Steps && !b.refused; ++t) {
            x[t] = b.add_op(slice_at(t, 1), "step", key_of<slice<0, 1, axis<1>>>, false, &tensor, 1);
        }
    }
    static constexpr int join(graph_builder& b, int (&x)[Steps]) {
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

/// Two cells as one: Forward from the first step to the last, Backward from the last to the first; what both make of a
/// step lies side by side in its channels (Schuster and Paliwal 1997).
template <class Forward, class Backward>
struct both_ways {
    struct joined : concat {};

    static constexpr int operators(int steps, bool padded = false) {
        return Forward::operators(steps, padded) + Backward::operators(steps, padded) + steps;
    }
    /// Behind a sample's length Backward keeps the state that it starts from, so that it begins at the sample's last
    /// step.
    static constexpr void unroll(graph_builder& b, int* x, int steps, const int* masks = nullptr) {
        int* const back = new int[2 * to_size(steps)]{};
        for (int t = 0; t < steps; ++t) {
            back[t] = x[steps - 1 - t];
            back[steps + t] = masks == nullptr ? -1 : masks[steps - 1 - t];
        }
        Forward::unroll(b, x, steps, masks);
        Backward::unroll(b, back, steps, masks == nullptr ? nullptr : back + steps);
        for (int t = 0; t < steps && !b.refused; ++t) {
            x[t] = detail::apply_layer<joined>(b, x[t], back[steps - 1 - t]);
        }
        delete[] back;
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
