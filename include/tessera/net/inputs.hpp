// SPDX-License-Identifier: Apache-2.0
// What a network begins with: the shape of its input for a batch, and whether it holds numbers or integers.
#pragma once

#include "tessera/base/box.hpp"

namespace tessera {

/// [batch, Channels, Height, Width] of floats.
template <index_t Channels, index_t Height, index_t Width>
struct image {
    static constexpr element type = element::f32;
    static constexpr shape extents(index_t batch) { return make_shape(batch, Channels, Height, Width); }
};
/// [batch, Count] of floats.
template <index_t Count>
struct features {
    static constexpr element type = element::f32;
    static constexpr shape extents(index_t batch) { return make_shape(batch, Count); }
};
/// [batch, Length, Channels] of floats.
template <index_t Length, index_t Channels>
struct sequence {
    static constexpr element type = element::f32;
    static constexpr shape extents(index_t batch) { return make_shape(batch, Length, Channels); }
};
/// One integer per sample.
struct labels {
    static constexpr element type = element::i32;
    static constexpr shape extents(index_t batch) { return make_shape(batch); }
};
/// How long each sample of padded sequences is, from 0 to their positions: one integer per sample.
struct lengths {
    static constexpr element type = element::i32;
    static constexpr shape extents(index_t batch) { return make_shape(batch); }
};
/// One integer per pixel.
template <index_t Height, index_t Width>
struct label_map {
    static constexpr element type = element::i32;
    static constexpr shape extents(index_t batch) { return make_shape(batch, Height, Width); }
};
/// Length integers per sample: what an embedding looks up, or the labels of a sequence.
template <index_t Length>
struct tokens {
    static constexpr element type = element::i32;
    static constexpr shape extents(index_t batch) { return make_shape(batch, Length); }
};

template <class T>
concept NetworkInput = requires {
    T::extents(index_t{1});
};

} // namespace tessera
