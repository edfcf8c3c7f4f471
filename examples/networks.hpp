// SPDX-License-Identifier: Apache-2.0
// Networks that the examples, benchmarks and tests share.
#pragma once

#include "tessera/net/network.hpp"
#include "tessera/part/residual.hpp"

namespace networks {

namespace ts = tessera;

namespace small_layers {
struct conv1 : ts::conv2d<10, ts::window<5>> {};
struct conv2 : ts::conv2d<20, ts::window<5>> {};
struct fc1 : ts::linear<50> {};
struct fc2 : ts::linear<10> {};
} // namespace small_layers

/// Two convolutions and two fully connected layers for 28 x 28 grey images: the example of the README.
struct small_convnet : ts::sequential<ts::image<1, 28, 28>,                                        //
                                      small_layers::conv1, ts::max_pool<2>, ts::relu,              //
                                      small_layers::conv2, ts::max_pool<2>, ts::relu,              //
                                      ts::flatten, small_layers::fc1, ts::relu, small_layers::fc2, //
                                      ts::cross_entropy> {};

namespace lenet_layers {
struct conv1 : ts::conv2d<6, ts::window<5>, ts::padding<2>> {};
struct conv2 : ts::conv2d<16, ts::window<5>> {};
struct fc1 : ts::linear<120> {};
struct fc2 : ts::linear<84> {};
struct fc3 : ts::linear<10> {};
} // namespace lenet_layers

/// LeNet-5 (LeCun et al. 1998) with today's relu and max pools, for 28 x 28 grey images.
struct lenet5
    : ts::sequential<ts::image<1, 28, 28>,                                                                     //
                     lenet_layers::conv1, ts::relu, ts::max_pool<2>,                                           //
                     lenet_layers::conv2, ts::relu, ts::max_pool<2>,                                           //
                     ts::flatten, lenet_layers::fc1, ts::relu, lenet_layers::fc2, ts::relu, lenet_layers::fc3, //
                     ts::cross_entropy> {};

namespace alexnet_layers {
struct conv1 : ts::conv2d<64, ts::window<11>, ts::stride<4>, ts::padding<2>> {};
struct conv2 : ts::conv2d<192, ts::window<5>, ts::padding<2>> {};
struct conv3 : ts::conv2d<384, ts::window<3>, ts::padding<1>> {};
struct conv4 : ts::conv2d<256, ts::window<3>, ts::padding<1>> {};
struct conv5 : ts::conv2d<256, ts::window<3>, ts::padding<1>> {};
struct fc6 : ts::linear<4096> {};
struct fc7 : ts::linear<4096> {};
struct fc8 : ts::linear<1000> {};
using pool = ts::max_pool<3, ts::stride<2>>;
using features =
    ts::branch<conv1, ts::relu, pool, conv2, ts::relu, pool, conv3, ts::relu, conv4, ts::relu, conv5, ts::relu, pool>;
} // namespace alexnet_layers

/// AlexNet with the layers of torchvision (Krizhevsky 2014) for 224 x 224 images, where its adaptive pool is the
/// identity.
struct alexnet : ts::sequential<ts::image<3, 224, 224>, alexnet_layers::features, ts::flatten,       //
                                ts::dropout<50>, alexnet_layers::fc6, ts::relu,                      //
                                ts::dropout<50>, alexnet_layers::fc7, ts::relu, alexnet_layers::fc8, //
                                ts::cross_entropy> {};

/// The same without dropout, for comparisons of speed.
struct alexnet_without_dropout : ts::sequential<ts::image<3, 224, 224>, alexnet_layers::features, ts::flatten, //
                                                alexnet_layers::fc6, ts::relu, alexnet_layers::fc7, ts::relu,  //
                                                alexnet_layers::fc8, ts::cross_entropy> {};

namespace vgg_layers {
/// A 3 x 3 convolution. Block and Place tell layers apart.
template <int Block, int Place, ts::index_t Channels>
struct conv : ts::conv2d<Channels, ts::window<3>, ts::padding<1>> {};
template <int Block, ts::index_t Channels>
using two = ts::branch<conv<Block, 1, Channels>, ts::relu, conv<Block, 2, Channels>, ts::relu, ts::max_pool<2>>;
template <int Block, ts::index_t Channels>
using three = ts::branch<conv<Block, 1, Channels>, ts::relu, conv<Block, 2, Channels>, ts::relu,
                         conv<Block, 3, Channels>, ts::relu, ts::max_pool<2>>;
struct fc6 : ts::linear<4096> {};
struct fc7 : ts::linear<4096> {};
struct fc8 : ts::linear<1000> {};
} // namespace vgg_layers

/// VGG-16 (Simonyan and Zisserman 2015, configuration D) for 224 x 224 images.
struct vgg16 : ts::sequential<ts::image<3, 224, 224>, vgg_layers::two<1, 64>, vgg_layers::two<2, 128>,         //
                              vgg_layers::three<3, 256>, vgg_layers::three<4, 512>, vgg_layers::three<5, 512>, //
                              ts::flatten, vgg_layers::fc6, ts::relu, ts::dropout<50>,                         //
                              vgg_layers::fc7, ts::relu, ts::dropout<50>, vgg_layers::fc8, ts::cross_entropy> {};

namespace resnet_layers {
struct conv1 : ts::conv2d<64, ts::window<7>, ts::stride<2>, ts::padding<3>, ts::no_bias> {};
struct norm1 : ts::batch_norm<> {};
/// A convolution of a bottleneck without bias, and its batch norm. Stage and Place tell layers apart.
template <int Stage, int Place, ts::index_t Channels, int Window, int Stride>
struct conv : ts::conv2d<Channels, ts::window<Window>, ts::stride<Stride>, ts::padding<Window / 2>, ts::no_bias> {};
template <int Stage, int Place>
struct norm : ts::batch_norm<> {};
/// 1 x 1, 3 x 3 and 1 x 1; the 3 x 3 one strides.
template <int Stage, int Place, ts::index_t Width, int Stride>
using narrow = ts::branch<conv<Stage, Place, Width, 1, 1>, norm<Stage, Place>, ts::relu,              //
                          conv<Stage, Place + 1, Width, 3, Stride>, norm<Stage, Place + 1>, ts::relu, //
                          conv<Stage, Place + 2, 4 * Width, 1, 1>, norm<Stage, Place + 2>>;
template <int Stage, int Blocks, ts::index_t Width, int Stride>
using stage = ts::branch<ts::branches<ts::add, narrow<Stage, 0, Width, Stride>,
                                      ts::branch<conv<Stage, 3, 4 * Width, 1, Stride>, norm<Stage, 3>>>,
                         ts::relu, ts::repeat<Blocks - 1, ts::residual<narrow<Stage, 4, Width, 1>>, ts::relu>>;
struct fc : ts::linear<1000> {};
} // namespace resnet_layers

/// ResNet-50 for 224 x 224 images (He et al. 2016), with the stride on the 3 x 3 convolutions as torchvision has it.
struct resnet50 : ts::sequential<ts::image<3, 224, 224>, resnet_layers::conv1, resnet_layers::norm1, ts::relu,
                                 ts::max_pool<3, ts::stride<2>, ts::padding<1>>, resnet_layers::stage<1, 3, 64, 1>,
                                 resnet_layers::stage<2, 4, 128, 2>, resnet_layers::stage<3, 6, 256, 2>,
                                 resnet_layers::stage<4, 3, 512, 2>, ts::global_average_pool, resnet_layers::fc,
                                 ts::cross_entropy> {};

namespace mlp_layers {
struct fc1 : ts::linear<4096> {};
struct fc2 : ts::linear<4096> {};
struct fc3 : ts::linear<10> {};
} // namespace mlp_layers

/// 784-4096-4096-10.
struct mlp : ts::sequential<ts::features<784>, mlp_layers::fc1, ts::relu, mlp_layers::fc2, ts::relu, mlp_layers::fc3,
                            ts::cross_entropy> {};

} // namespace networks
