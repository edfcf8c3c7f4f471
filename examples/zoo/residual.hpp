// SPDX-License-Identifier: Apache-2.0
// Deep networks for images whose blocks add up or concatenate: ResNet-101, ResNeXt-50, pre-activation ResNets,
// DenseNet-121.
#pragma once

#include "examples/networks.hpp"

namespace networks {

/// ResNet-101 for 224 x 224 images (He et al. 2016), with the stride on the 3 x 3 convolutions as torchvision has it.
struct resnet101 : ts::sequential<ts::image<3, 224, 224>, resnet_layers::conv1, resnet_layers::norm1, ts::relu,
                                  ts::max_pool<3, ts::stride<2>, ts::padding<1>>, resnet_layers::stage<1, 3, 64, 1>,
                                  resnet_layers::stage<2, 4, 128, 2>, resnet_layers::stage<3, 23, 256, 2>,
                                  resnet_layers::stage<4, 3, 512, 2>, ts::global_average_pool, resnet_layers::fc,
                                  ts::cross_entropy> {};

namespace resnext_layers {
template <int Stage, int Place, ts::index_t Channels, ts::index_t Groups, int Stride>
struct grouped
    : ts::conv2d<Channels, ts::window<3>, ts::stride<Stride>, ts::padding<1>, ts::groups<Groups>, ts::no_bias> {};
/// As a bottleneck of a ResNet, its 3 x 3 convolution of Inner channels in Groups.
template <int Stage, int Place, ts::index_t Inner, ts::index_t Outer, ts::index_t Groups, int Stride>
using narrow =
    ts::branch<resnet_layers::conv<Stage, Place, Inner, 1, 1>, resnet_layers::norm<Stage, Place>, ts::relu,
               grouped<Stage, Place + 1, Inner, Groups, Stride>, resnet_layers::norm<Stage, Place + 1>, ts::relu,
               resnet_layers::conv<Stage, Place + 2, Outer, 1, 1>, resnet_layers::norm<Stage, Place + 2>>;
template <int Stage, ts::index_t Inner, ts::index_t Outer, ts::index_t Groups, int Stride>
using first_block =
    ts::branch<ts::branches<ts::add, narrow<Stage, 0, Inner, Outer, Groups, Stride>,
                            ts::branch<resnet_layers::conv<Stage, 3, Outer, 1, Stride>, resnet_layers::norm<Stage, 3>>>,
               ts::relu>;
template <int Stage, int Blocks, ts::index_t Inner, ts::index_t Outer, ts::index_t Groups, int Stride>
struct stage_of {
    using type = ts::branch<first_block<Stage, Inner, Outer, Groups, Stride>,
                            ts::repeat<Blocks - 1, ts::residual<narrow<Stage, 4, Inner, Outer, Groups, 1>>, ts::relu>>;
};
template <int Stage, ts::index_t Inner, ts::index_t Outer, ts::index_t Groups, int Stride>
struct stage_of<Stage, 1, Inner, Outer, Groups, Stride> {
    using type = first_block<Stage, Inner, Outer, Groups, Stride>;
};
template <int Stage, int Blocks, ts::index_t Inner, ts::index_t Outer, ts::index_t Groups, int Stride>
using stage = typename stage_of<Stage, Blocks, Inner, Outer, Groups, Stride>::type;
template <ts::index_t Channels>
struct stem : ts::conv2d<Channels, ts::window<3>, ts::padding<1>, ts::no_bias> {};
template <ts::index_t Classes>
struct classes : ts::linear<Classes> {};
} // namespace resnext_layers

/// ResNeXt-50 of 32 groups of 4 channels, for 224 x 224 images (Xie et al. 2017, "Aggregated Residual Transformations
/// for Deep Neural Networks").
struct resnext50
    : ts::sequential<ts::image<3, 224, 224>, resnet_layers::conv1, resnet_layers::norm1, ts::relu,
                     ts::max_pool<3, ts::stride<2>, ts::padding<1>>, resnext_layers::stage<1, 3, 128, 256, 32, 1>,
                     resnext_layers::stage<2, 4, 256, 512, 32, 2>, resnext_layers::stage<3, 6, 512, 1024, 32, 2>,
                     resnext_layers::stage<4, 3, 1024, 2048, 32, 2>, ts::global_average_pool, resnet_layers::fc,
                     ts::cross_entropy> {};

/// As the paper has them for small images: three stages behind a 3 x 3 convolution of Stem channels, Blocks bottlenecks
/// each, the first of Inner channels in Groups and Outer behind them, twice as many in every stage that follows.
template <ts::index_t Pixels, ts::index_t Colors, ts::index_t Classes, int Blocks, ts::index_t Stem, ts::index_t Inner,
          ts::index_t Outer, ts::index_t Groups>
struct small_resnext
    : ts::sequential<ts::image<Colors, Pixels, Pixels>, resnext_layers::stem<Stem>, resnet_layers::norm1, ts::relu,
                     resnext_layers::stage<1, Blocks, Inner, Outer, Groups, 1>,
                     resnext_layers::stage<2, Blocks, 2 * Inner, 2 * Outer, Groups, 2>,
                     resnext_layers::stage<3, Blocks, 4 * Inner, 4 * Outer, Groups, 2>, ts::global_average_pool,
                     resnext_layers::classes<Classes>, ts::cross_entropy> {};
/// ResNeXt-29 of 8 groups of 64 channels, for 32 x 32 images.
struct resnext29 : small_resnext<32, 3, 10, 3, 64, 512, 256, 8> {};

namespace preactivation_layers {
struct conv1 : ts::conv2d<16, ts::window<3>, ts::padding<1>, ts::no_bias> {};
template <int Stage, int Place, ts::index_t Channels, int Window, int Stride>
struct conv : ts::conv2d<Channels, ts::window<Window>, ts::stride<Stride>, ts::padding<Window / 2>, ts::no_bias> {};
template <int Stage, int Place>
struct norm : ts::batch_norm<> {};
/// Normalize, relu, convolve: three times after a first normalization that the shortcut of a stage's first block
/// shares.
template <int Stage, int Place, ts::index_t Width, int Stride>
using narrow = ts::branch<conv<Stage, Place, Width, 1, Stride>, norm<Stage, Place + 1>, ts::relu,
                          conv<Stage, Place + 1, Width, 3, 1>, norm<Stage, Place + 2>, ts::relu,
                          conv<Stage, Place + 2, 4 * Width, 1, 1>>;
template <int Stage, int Blocks, ts::index_t Width, int Stride>
using stage =
    ts::branch<norm<Stage, 0>, ts::relu,
               ts::branches<ts::add, narrow<Stage, 0, Width, Stride>, ts::branch<conv<Stage, 3, 4 * Width, 1, Stride>>>,
               ts::repeat<Blocks - 1, ts::residual<norm<Stage, 4>, ts::relu, narrow<Stage, 4, Width, 1>>>>;
struct last_norm : ts::batch_norm<> {};
struct fc : ts::linear<10> {};
} // namespace preactivation_layers

/// Pre-activation ResNet with bottlenecks for 32 x 32 images (He et al. 2016b, "Identity mappings in deep residual
/// networks"), of 9 * Blocks + 2 layers.
template <int Blocks>
struct resnet_v2
    : ts::sequential<ts::image<3, 32, 32>, preactivation_layers::conv1, preactivation_layers::stage<1, Blocks, 16, 1>,
                     preactivation_layers::stage<2, Blocks, 32, 2>, preactivation_layers::stage<3, Blocks, 64, 2>,
                     preactivation_layers::last_norm, ts::relu, ts::global_average_pool, preactivation_layers::fc,
                     ts::cross_entropy> {};
using resnet110_v2 = resnet_v2<12>;
using resnet164_v2 = resnet_v2<18>;
using resnet1001_v2 = resnet_v2<111>;

namespace densenet_layers {
struct conv0 : ts::conv2d<64, ts::window<7>, ts::stride<2>, ts::padding<3>, ts::no_bias> {};
struct norm0 : ts::batch_norm<> {};
template <int Block>
struct norm1 : ts::batch_norm<> {};
template <int Block>
struct conv1 : ts::conv2d<128, ts::no_bias> {};
template <int Block>
struct norm2 : ts::batch_norm<> {};
template <int Block>
struct conv2 : ts::conv2d<32, ts::window<3>, ts::padding<1>, ts::no_bias> {};
/// Every layer sees the concatenation of all before it in its block, and adds 32 channels.
template <int Block, int Layers>
using block =
    ts::repeat<Layers,
               ts::branches<ts::concat, ts::branch<>,
                            ts::branch<norm1<Block>, ts::relu, conv1<Block>, norm2<Block>, ts::relu, conv2<Block>>>>;
template <int Block>
struct between_norm : ts::batch_norm<> {};
template <int Block, ts::index_t Channels>
struct between_conv : ts::conv2d<Channels, ts::no_bias> {};
template <int Block, ts::index_t Channels>
using transition = ts::branch<between_norm<Block>, ts::relu, between_conv<Block, Channels>, ts::average_pool<2>>;
struct norm5 : ts::batch_norm<> {};
struct classifier : ts::linear<1000> {};
} // namespace densenet_layers

/// DenseNet-121 for 224 x 224 images (Huang et al. 2017).
struct densenet121
    : ts::sequential<ts::image<3, 224, 224>, densenet_layers::conv0, densenet_layers::norm0, ts::relu,
                     ts::max_pool<3, ts::stride<2>, ts::padding<1>>, densenet_layers::block<1, 6>,
                     densenet_layers::transition<1, 128>, densenet_layers::block<2, 12>,
                     densenet_layers::transition<2, 256>, densenet_layers::block<3, 24>,
                     densenet_layers::transition<3, 512>, densenet_layers::block<4, 16>, densenet_layers::norm5,
                     ts::relu, ts::global_average_pool, densenet_layers::classifier, ts::cross_entropy> {};

} // namespace networks
