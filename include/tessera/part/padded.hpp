// SPDX-License-Identifier: Apache-2.0
// Sequences of several lengths in one batch, padded at their ends, or anywhere.
#pragma once
#include "tessera/base/begin_header.inl"

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

/// The mask of a network's samples, of so many places: likewise.
constexpr int mask_in(graph_builder& b, index_t samples, index_t places) {
    const int known = b.find_tap(key_of<place_mask>);
    if (known >= 0) {
        return known;
    }
    bool any_length = false; // as the sequences that it masks
    for (int t = 0; t < b.tensor_count; ++t) {
        any_length = any_length || (b.tensors[t].any_length && b.tensors[t].extents[1] == places);
    }
    const int made = b.add_input(place_mask::extents(samples, places), place_mask::type, "mask", any_length);
    b.add_tap(key_of<place_mask>, "mask", made, rule::tap_saved_twice);
    return made;
}

} // namespace detail

/// A padded_attention<> of a self_attention<> or cross_attention<> that sees the keys that a mask [N,S] has 1 for, such
/// as those of sequences that are padded at their beginnings. The mask is an input of the network, one for all parts; a
/// batch hands it in as feed<place_mask>.
template <class L>
struct with_mask {
    static_assert(Layer<L>,
                  "tessera: with_mask<> takes a padded_attention<>, in a self_attention<> or cross_attention<>");
};

/// A layer or part that takes the lengths [N] of its samples besides a tensor, in a network that hands on one tensor:
///
/// - with_lengths<padded_softmax<>>: attention's weights;
/// - with_lengths<lstm<...>>, with_lengths<gru<...>>: behind its length a sample keeps its state, in which a cell that
///   starts where this one ended goes on, and what comes out is zeros; both_ways begins backward at a sample's last
///   step. So PyTorch has it for packed sequences.
///
/// The lengths are an input of the network, one for all parts; a batch hands them in as feed<lengths>.
template <class L>
struct with_lengths {
    static constexpr bool is_part = requires { L::op_count_with_lengths(); };
    static_assert(Layer<L> || is_part, "tessera: with_lengths<> takes a layer, an lstm<> or a gru<>");

    static constexpr int count() {
        if constexpr (is_part) {
            return L::op_count_with_lengths();
        } else {
            return 1;
        }
    }
    static constexpr int op_count = count();
    template <int>
    static constexpr auto nth() {
        return detail::identity<L>{};
    }
    static constexpr int build(graph_builder& b, int tensor) {
        if (b.refused) {
            return -1;
        }
        const int lengths = detail::lengths_in(b, b.tensors[tensor].extents[0]);
        if constexpr (is_part) {
            return L::build_with_lengths(b, tensor, lengths);
        } else {
            return detail::apply_layer<L>(b, tensor, lengths);
        }
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
