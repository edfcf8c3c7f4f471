// SPDX-License-Identifier: Apache-2.0
// Sequences of several lengths in one batch, padded at their ends.
#pragma once

#include "tessera/net/network.hpp"

namespace tessera {

namespace detail {

/// The lengths of a network's samples: an input of the network, made when the first part asks for it.
constexpr int lengths_in(graph_builder& b, index_t samples) {
    const int known = b.find_tap(key_of<lengths>);
    if (known >= 0) {
        return known;
    }
    const int made = b.add_input(lengths::extents(samples), lengths::type, "lengths");
    b.add_tap(key_of<lengths>, "lengths", made, rule::tap_saved_twice);
    return made;
}

} // namespace detail

/// A layer that takes a tensor and the lengths [N] of its samples, in a network that hands on one tensor: with_lengths<padded_softmax<>>. The lengths
/// are an input of the network, one for all parts; a batch hands them in as feed<lengths>.
template <class L>
struct with_lengths {
    static_assert(Layer<L>, "tessera: with_lengths<> takes a layer");
    static constexpr int op_count = 1;
    template <int>
    static constexpr auto nth() {
        return detail::identity<L>{};
    }
    static constexpr int build(graph_builder& b, int tensor) {
        return b.refused ? -1 : detail::apply_layer<L>(b, tensor, detail::lengths_in(b, b.tensors[tensor].extents[0]));
    }
};

} // namespace tessera
