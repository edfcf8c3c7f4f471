// SPDX-License-Identifier: Apache-2.0
// Three-dimensional convolution (cross-correlation) of volumes: x[N,C,D,H,W], w[O,C/groups,Q,R,S], b[O] ->
// y[N,O,D',H',W'].
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/conv2d.hpp"

namespace tessera::op {

struct conv3d_attributes {
    index_t window[3] = {1, 1, 1};   ///< depth, height, width
    index_t stride[3] = {1, 1, 1};   ///< depth, height, width
    index_t padding[3] = {0, 0, 0};  ///< planes, rows and columns of zeros on each side
    index_t dilation[3] = {1, 1, 1}; ///< depth, height, width
    index_t out = 0;                 ///< output channels
    index_t groups = 1;              ///< input and output channels are divided in this many
    flag bias = false;               ///< adds one number per output channel
    static constexpr attribute_field fields[] = {{"window", 3, 1},   {"stride", 3, 1}, {"padding", 3},
                                                 {"dilation", 3, 1}, {"out", 1, 1},    {"groups", 1, 1},
                                                 flag_field("bias")};
};

inline constexpr op_record conv3d_record = convolution_record<conv3d_attributes>("conv3d");

/// Groups of a convolution of an input of this rank.
constexpr index_t convolution_groups(const op_attributes& a, int rank) {
    return rank == 5 ? a.as<conv3d_attributes>().groups : a.as<conv2d_attributes>().groups;
}

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::conv3d{&op::conv3d_record};

/// conv3d<output channels, window<>, stride<>, padding<>, dilation<>, groups<>, no_bias, frozen>: [N,C,D,H,W] ->
/// [N,Out,D',H',W']. One number of an option stands for depth, height and width: window<3>; else window<1, 3, 3>.
template <index_t Out, class... Options>
struct conv3d {
    static constexpr op_attributes attributes =
        detail::make_attributes<op_kind::conv3d, Options...>(op::conv3d_attributes{.out = Out, .bias = true});
};

} // namespace tessera

#include "tessera/base/end_header.inl"
