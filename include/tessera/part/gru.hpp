// SPDX-License-Identifier: Apache-2.0
// GRUs over sequences [N,T,C], unrolled in time.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/expression/record.hpp"
#include "tessera/part/unrolled.hpp"

namespace tessera {

namespace detail {

/// tanh(new + reset * what the state gives).
struct gru_candidate : elementwise<gru_candidate> {
    static constexpr const char* name = "gru_candidate";
    static constexpr auto of(auto from_input, auto reset_input, auto reset_hidden, auto from_hidden) {
        return tanh(from_input + sigmoid(reset_input + reset_hidden) * from_hidden);
    }
};
/// The new state: update * state + (1 - update) * candidate.
struct gru_state : elementwise<gru_state> {
    static constexpr const char* name = "gru_state";
    static constexpr auto of(auto candidate, auto update_input, auto update_hidden, auto state) {
        return candidate + sigmoid(update_input + update_hidden) * (state - candidate);
    }
};
/// The new state where there was none, and nothing that the state gives has a bias.
struct gru_first_state : elementwise<gru_first_state> {
    static constexpr const char* name = "gru_first_state";
    static constexpr auto of(auto from_input, auto update_input) { return tanh(from_input) * sigmoid(-update_input); }
};

} // namespace detail

/// One layer of a GRU (Cho et al. 2014, "Learning Phrase Representations using RNN Encoder-Decoder", with the reset
/// gate behind the product of the state, as cuDNN and PyTorch have it). FromInput and FromHidden are linear layers with
/// 3 * Hidden outputs: reset gate, update gate, candidate, in this order; either may have a bias. It starts from zeros,
/// or from where the cell Before ended.
template <index_t Hidden, class FromInput, class FromHidden, class Before = void>
struct gru_cell {
    struct reset_gate : slice<0, Hidden> {};
    struct update_gate : slice<Hidden, Hidden> {};
    struct candidate : slice<2 * Hidden, Hidden> {};
    struct last_hidden;

    static constexpr bool starts_from_zero = __is_same(Before, void);
    static constexpr bool adds_to_zero =
        starts_from_zero && detail::adds_to_zeros(FromHidden::attributes, make_shape(1, Hidden));
    /// Operators of `steps` steps: 10 each, one more for zeros, fewer where there is no state yet. Of padded sequences
    /// two more for a step, but one where it starts from zeros.
    static constexpr int operators(int steps, bool padded = false) {
        return 10 * steps +
               (adds_to_zero       ? 1
                : starts_from_zero ? -6
                                   : 0) +
               (padded ? 2 * steps - (starts_from_zero ? 1 : 0) : 0);
    }

    /// The hidden states after steps over the tensors `x`, which they replace. `masks` of padded sequences: 1 where a
    /// step is within a sample's length.
    static constexpr void unroll(graph_builder& b, int* x, int steps, const int* masks = nullptr) {
        using namespace detail;
        int hidden = -1;
        if constexpr (!starts_from_zero) {
            hidden = b.find_tap(key_of<typename Before::last_hidden>);
            if (hidden < 0) {
                b.refused_at = type_name<Before>();
                b.fail({rule::tap_not_saved, 0, -1, 0, 1});
            }
        }
        bool used = false;
        for (int t = 0; t < steps && !b.refused; ++t) {
            const int given = apply_layer<FromInput>(b, x[t], -1, t > 0);
            const int update = apply_layer<update_gate>(b, given);
            const int made = apply_layer<candidate>(b, given);
            if (hidden < 0 && !adds_to_zero) {
                hidden = x[t] = kept_within(b, masks, t, apply_layer<gru_first_state>(b, made, update), -1);
                continue;
            }
            const int reset = apply_layer<reset_gate>(b, given);
            hidden = hidden < 0 ? apply_layer<zeros_like>(b, reset) : hidden;
            const int kept = apply_layer<FromHidden>(b, hidden, -1, used);
            used = true;
            const int four[] = {made, reset, apply_layer<reset_gate>(b, kept), apply_layer<candidate>(b, kept)};
            const int state[] = {apply_to<gru_candidate>(b, four), update, apply_layer<update_gate>(b, kept), hidden};
            const int next = apply_to<gru_state>(b, state);
            x[t] = kept_within(b, masks, t, next, -1);
            hidden = starts_from_zero && t == 0 ? x[t] : kept_within(b, masks, t, next, hidden);
        }
        b.add_tap(key_of<last_hidden>, type_name<gru_cell>(), hidden, rule::tap_saved_twice);
    }
};

/// Cells one on top of the other over the first Steps positions of a sequence: [N,T,C] -> [N,Steps,Hidden of the last
/// cell]. Of padded sequences: with_lengths<gru<...>>, see part/padded.hpp.
template <int Steps, class... Cells>
struct gru : detail::unrolled<gru<Steps, Cells...>, Steps, Cells...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
