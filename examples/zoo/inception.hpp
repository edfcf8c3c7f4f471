// SPDX-License-Identifier: Apache-2.0
// Inception-v3 (Szegedy et al. 2016) without its auxiliary classifier.
#pragma once

#include "examples/networks.hpp"

namespace networks {

namespace inception_layers {
/// Block and Place tell layers apart.
template <int Block, int Place, class... Options>
struct norm : ts::batch_norm<> {};
template <int Block, int Place, ts::index_t Out, class... Options>
struct conv_layer : ts::conv2d<Out, ts::no_bias, Options...> {};
/// Convolution, batch norm, relu.
template <int Block, int Place, ts::index_t Out, class... Options>
using conv = ts::branch<conv_layer<Block, Place, Out, Options...>, norm<Block, Place>, ts::relu>;

using tall = ts::window<7, 1>;
using tall_padding = ts::padding<3, 0>;
using wide = ts::window<1, 7>;
using wide_padding = ts::padding<0, 3>;
using around = ts::average_pool<3, ts::stride<1>, ts::padding<1>, ts::count_padding>;
using w3 = ts::window<3>;
using p1 = ts::padding<1>;
using s2 = ts::stride<2>;

/// Figure 5 of the paper, at 35 x 35.
template <int B, ts::index_t Pooled>
using a =
    ts::branches<ts::concat, conv<B, 0, 64>, ts::branch<conv<B, 1, 48>, conv<B, 2, 64, ts::window<5>, ts::padding<2>>>,
                 ts::branch<conv<B, 3, 64>, conv<B, 4, 96, w3, p1>, conv<B, 5, 96, w3, p1>>,
                 ts::branch<around, conv<B, 6, Pooled>>>;
/// From 35 x 35 to 17 x 17.
template <int B>
using b = ts::branches<ts::concat, conv<B, 0, 384, w3, s2>,
                       ts::branch<conv<B, 1, 64>, conv<B, 2, 96, w3, p1>, conv<B, 3, 96, w3, s2>>,
                       ts::branch<ts::max_pool<3, s2>>>;
/// Figure 6, at 17 x 17.
template <int B, ts::index_t C>
using c =
    ts::branches<ts::concat, conv<B, 0, 192>,
                 ts::branch<conv<B, 1, C>, conv<B, 2, C, wide, wide_padding>, conv<B, 3, 192, tall, tall_padding>>,
                 ts::branch<conv<B, 4, C>, conv<B, 5, C, tall, tall_padding>, conv<B, 6, C, wide, wide_padding>,
                            conv<B, 7, C, tall, tall_padding>, conv<B, 8, 192, wide, wide_padding>>,
                 ts::branch<around, conv<B, 9, 192>>>;
/// From 17 x 17 to 8 x 8.
template <int B>
using d = ts::branches<ts::concat, ts::branch<conv<B, 0, 192>, conv<B, 1, 320, w3, s2>>,
                       ts::branch<conv<B, 2, 192>, conv<B, 3, 192, wide, wide_padding>,
                                  conv<B, 4, 192, tall, tall_padding>, conv<B, 5, 192, w3, s2>>,
                       ts::branch<ts::max_pool<3, s2>>>;
/// Both halves of a 3 x 3 filter bank side by side.
template <int B, int P>
using halves = ts::branches<ts::concat, conv<B, P, 384, ts::window<1, 3>, ts::padding<0, 1>>,
                            conv<B, P + 1, 384, ts::window<3, 1>, ts::padding<1, 0>>>;
/// Figure 7, at 8 x 8.
template <int B>
using e = ts::branches<ts::concat, conv<B, 0, 320>, ts::branch<conv<B, 1, 384>, halves<B, 2>>,
                       ts::branch<conv<B, 4, 448>, conv<B, 5, 384, w3, p1>, halves<B, 6>>,
                       ts::branch<around, conv<B, 8, 192>>>;
struct fc : ts::linear<1000> {};
} // namespace inception_layers

/// Inception-v3 for 299 x 299 images, layer by layer as torchvision has it. (Its batch norms add 1e-3 to the variance;
/// these 1e-5.)
struct inception_v3
    : ts::sequential<ts::image<3, 299, 299>, inception_layers::conv<0, 0, 32, ts::window<3>, ts::stride<2>>,
                     inception_layers::conv<0, 1, 32, ts::window<3>>,
                     inception_layers::conv<0, 2, 64, ts::window<3>, ts::padding<1>>, ts::max_pool<3, ts::stride<2>>,
                     inception_layers::conv<0, 3, 80>, inception_layers::conv<0, 4, 192, ts::window<3>>,
                     ts::max_pool<3, ts::stride<2>>, inception_layers::a<1, 32>, inception_layers::a<2, 64>,
                     inception_layers::a<3, 64>, inception_layers::b<4>, inception_layers::c<5, 128>,
                     inception_layers::c<6, 160>, inception_layers::c<7, 160>, inception_layers::c<8, 192>,
                     inception_layers::d<9>, inception_layers::e<10>, inception_layers::e<11>, ts::global_average_pool,
                     ts::dropout<50>, inception_layers::fc, ts::cross_entropy> {};

} // namespace networks
