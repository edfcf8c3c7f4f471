// SPDX-License-Identifier: Apache-2.0
// VGG-19.
#pragma once

#include "examples/networks.hpp"

namespace networks {

namespace vgg_layers {
template <int Block, ts::index_t Channels>
using four = ts::branch<conv<Block, 1, Channels>, ts::relu, conv<Block, 2, Channels>, ts::relu,
                        conv<Block, 3, Channels>, ts::relu, conv<Block, 4, Channels>, ts::relu, ts::max_pool<2>>;
} // namespace vgg_layers

/// VGG-19 (Simonyan and Zisserman 2015, configuration E) for 224 x 224 images.
struct vgg19 : ts::sequential<ts::image<3, 224, 224>, vgg_layers::two<1, 64>, vgg_layers::two<2, 128>,      //
                              vgg_layers::four<3, 256>, vgg_layers::four<4, 512>, vgg_layers::four<5, 512>, //
                              ts::flatten, vgg_layers::fc6, ts::relu, ts::dropout<50>,                      //
                              vgg_layers::fc7, ts::relu, ts::dropout<50>, vgg_layers::fc8, ts::cross_entropy> {};

} // namespace networks
