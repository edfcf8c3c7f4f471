// SPDX-License-Identifier: Apache-2.0
// LSTMs over sequences [N,T,C], unrolled in time.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/add.hpp"
#include "tessera/op/multiply.hpp"
#include "tessera/op/sigmoid.hpp"
#include "tessera/op/slice.hpp"
#include "tessera/op/tanh.hpp"
#include "tessera/part/unrolled.hpp"

namespace tessera {

/// One layer of an LSTM (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000). FromInput and
/// FromHidden are linear layers with 4 * Hidden outputs: input gate, forget gate, candidate, output gate, in this
/// order; either may have a bias. It starts from zeros, or from where the cell Before ended.
template <index_t Hidden, class FromInput, class FromHidden, class Before = void>
struct lstm_cell {
    struct input_gate : slice<0, Hidden> {};
    struct forget_gate : slice<Hidden, Hidden> {};
    struct candidate : slice<2 * Hidden, Hidden> {};
    struct output_gate : slice<3 * Hidden, Hidden> {};
    struct last_hidden;
    struct last_cell;

    static constexpr bool starts_from_zero = __is_same(Before, void);
    /// FromHidden makes something even of zeros: its bias.
    static constexpr bool adds_to_zero =
        starts_from_zero && detail::adds_to_zeros(FromHidden::attributes, make_shape(1, Hidden));
    /// Operators of `steps` steps: 16 each, and fewer where there is no state yet. Of padded sequences three more for a
    /// step, but two where it starts from zeros.
    static constexpr int operators(int steps, bool padded = false) {
        return 16 * steps -
               (adds_to_zero       ? 2
                : starts_from_zero ? 6
                                   : 0) +
               (padded ? 3 * steps - (starts_from_zero ? 1 : 0) : 0);
    }

    /// The hidden states after steps over the tensors `x`, which they replace. `masks` of padded sequences: 1 where a
    /// step is within a sample's length.
    static constexpr void unroll(graph_builder& b, int* x, int steps, const int* masks = nullptr) {
        int hidden = -1;
        int cell = -1;
        if constexpr (!starts_from_zero) {
            hidden = b.find_tap(key_of<typename Before::last_hidden>);
            cell = b.find_tap(key_of<typename Before::last_cell>);
            if (hidden < 0 || cell < 0) {
                b.refused_at = type_name<Before>();
                b.fail({rule::tap_not_saved, 0, -1, 0, 1});
            }
        }
        bool used = false;
        for (int t = 0; t < steps && !b.refused; ++t) {
            using namespace detail;
            int gates = apply_layer<FromInput>(b, x[t], -1, t > 0);
            hidden = adds_to_zero && t == 0 ? apply_layer<zeros_like>(b, apply_layer<input_gate>(b, gates)) : hidden;
            if (hidden >= 0) {
                gates = apply_layer<add>(b, gates, apply_layer<FromHidden>(b, hidden, -1, used));
                used = true;
            }
            const int in = apply_layer<sigmoid>(b, apply_layer<input_gate>(b, gates));
            const int made = apply_layer<multiply>(b, in, apply_layer<tanh>(b, apply_layer<candidate>(b, gates)));
            int next = made;
            if (cell >= 0) {
                const int kept =
                    apply_layer<multiply>(b, apply_layer<sigmoid>(b, apply_layer<forget_gate>(b, gates)), cell);
                next = apply_layer<add>(b, kept, made);
            }
            const int shown = apply_layer<multiply>(b, apply_layer<sigmoid>(b, apply_layer<output_gate>(b, gates)),
                                                    apply_layer<tanh>(b, next));
            x[t] = kept_within(b, masks, t, shown, -1);
            hidden = starts_from_zero && t == 0 ? x[t] : kept_within(b, masks, t, shown, hidden);
            cell = kept_within(b, masks, t, next, cell);
        }
        b.add_tap(key_of<last_hidden>, type_name<lstm_cell>(), hidden, rule::tap_saved_twice);
        b.add_tap(key_of<last_cell>, type_name<lstm_cell>(), cell, rule::tap_saved_twice);
    }
};

/// Cells one on top of the other over the first Steps positions of a sequence: [N,T,C] -> [N,Steps,Hidden of the last
/// cell]. Of padded sequences: with_lengths<lstm<...>>, see part/padded.hpp.
template <int Steps, class... Cells>
struct lstm : detail::unrolled<lstm<Steps, Cells...>, Steps, Cells...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
