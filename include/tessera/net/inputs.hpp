// SPDX-License-Identifier: Apache-2.0
// What a network begins with: the shape of its input for a batch, and whether it holds numbers or integers.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"

namespace tessera {

/// In place of a length: batches may have any length up to this one, each of one length for all its samples:
/// tokens<up_to<1024>>. The network is described, searched for and planned at the longest; a shorter batch has a plan
/// of its own under the same strategy.
template <index_t Longest>
inline constexpr index_t up_to = -Longest;

namespace detail {

/// Inputs whose second extent is a length.
template <index_t Length>
struct has_length {
    static_assert(Length != 0, "tessera: a length is at least 1");
    static constexpr index_t longest = Length < 0 ? -Length : Length;
    static constexpr bool any_length = Length < 0; ///< as up_to<> says
};

} // namespace detail

/// [batch, Channels, Height, Width] of floats.
template <index_t Channels, index_t Height, index_t Width>
struct image {
    static constexpr element type = element::f32;
    static constexpr shape extents(index_t batch) { return make_shape(batch, Channels, Height, Width); }
};
/// [batch, Channels, Depth, Height, Width] of floats.
template <index_t Channels, index_t Depth, index_t Height, index_t Width>
struct volume {
    static constexpr element type = element::f32;
    static constexpr shape extents(index_t batch) { return make_shape(batch, Channels, Depth, Height, Width); }
};
/// [batch, Count] of floats.
template <index_t Count>
struct features {
    static constexpr element type = element::f32;
    static constexpr shape extents(index_t batch) { return make_shape(batch, Count); }
};
/// [batch, Length, Channels] of floats.
template <index_t Length, index_t Channels>
struct sequence : detail::has_length<Length> {
    static constexpr element type = element::f32;
    static constexpr shape extents(index_t batch) { return make_shape(batch, sequence::longest, Channels); }
};
/// One float per sample, such as its weight in a loss.
struct scalars {
    static constexpr element type = element::f32;
    static constexpr shape extents(index_t batch) { return make_shape(batch); }
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
/// Which places of each sample's sequence others see: 1, or 0; as many integers as it has places. Parts make this
/// input, with_mask<>.
struct place_mask {
    static constexpr element type = element::i32;
    static constexpr shape extents(index_t batch, index_t places) { return make_shape(batch, places); }
};
/// One integer per pixel.
template <index_t Height, index_t Width>
struct label_map {
    static constexpr element type = element::i32;
    static constexpr shape extents(index_t batch) { return make_shape(batch, Height, Width); }
};
/// One integer per voxel.
template <index_t Depth, index_t Height, index_t Width>
struct label_volume {
    static constexpr element type = element::i32;
    static constexpr shape extents(index_t batch) { return make_shape(batch, Depth, Height, Width); }
};
/// Length integers per sample: what an embedding looks up, or the labels of a sequence.
template <index_t Length>
struct tokens : detail::has_length<Length> {
    static constexpr element type = element::i32;
    static constexpr shape extents(index_t batch) { return make_shape(batch, tokens::longest); }
};

template <class T>
concept NetworkInput = requires {
    T::extents(index_t{1});
};

/// Whether a batch may be shorter than an input's length.
template <NetworkInput T>
constexpr bool is_any_length() {
    if constexpr (requires { T::any_length; }) {
        return T::any_length;
    } else {
        return false;
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
