// SPDX-License-Identifier: Apache-2.0
// EfficientNets.
#pragma once

#include "tessera/net/network.hpp"
#include "tessera/op/multiply.hpp"
#include "tessera/op/reduce.hpp"
#include "tessera/op/sigmoid.hpp"
#include "tessera/op/silu.hpp"
#include "tessera/part/residual.hpp"

#include <utility>

namespace networks {

namespace ts = tessera;

namespace efficientnet_layers {
template <ts::index_t Channels>
struct stem : ts::conv2d<Channels, ts::window<3>, ts::stride<2>, ts::padding<1>, ts::no_bias> {};
struct stem_norm : ts::batch_norm<> {};
template <ts::index_t Channels>
struct head : ts::conv2d<Channels, ts::no_bias> {};
struct head_norm : ts::batch_norm<> {};
template <ts::index_t Classes>
struct classes : ts::linear<Classes> {};

template <int Stage, int Place, ts::index_t Channels>
struct widen : ts::conv2d<Channels, ts::no_bias> {};
/// Every channel by itself.
template <int Stage, int Place, ts::index_t Channels, int Window, int Stride>
struct depthwise : ts::conv2d<Channels, ts::window<Window>, ts::stride<Stride>, ts::padding<Window / 2>,
                              ts::groups<Channels>, ts::no_bias> {};
template <int Stage, int Place, ts::index_t Channels>
struct squeeze : ts::conv2d<Channels> {};
template <int Stage, int Place, ts::index_t Channels>
struct excite : ts::conv2d<Channels> {};
template <int Stage, int Place, ts::index_t Channels>
struct narrow : ts::conv2d<Channels, ts::no_bias> {};
template <int Stage, int Place, int Which>
struct norm : ts::batch_norm<> {};

/// Squeeze and excitation (Hu et al. 2018): each channel times a number from 0 to 1 that the means of all channels
/// give.
template <int Stage, int Place, ts::index_t Channels, ts::index_t Squeezed>
using excitation = ts::branches<ts::multiply, ts::branch<>,
                                ts::branch<ts::mean_over_kept<2, 3>, squeeze<Stage, Place, Squeezed>, ts::silu,
                                           excite<Stage, Place, Channels>, ts::sigmoid>>;
template <int Stage, int Place, ts::index_t In, ts::index_t Expansion>
struct widened {
    using type = ts::branch<widen<Stage, Place, Expansion * In>, norm<Stage, Place, 0>, ts::silu>;
};
template <int Stage, int Place, ts::index_t In>
struct widened<Stage, Place, In, 1> {
    using type = ts::branch<>;
};
/// MBConv: wide between narrow ends, a depthwise convolution in the middle. From In channels to Out.
template <int Stage, int Place, ts::index_t In, ts::index_t Out, ts::index_t Expansion, int Window, int Stride>
using mbconv = ts::branch<typename widened<Stage, Place, In, Expansion>::type,
                          depthwise<Stage, Place, Expansion * In, Window, Stride>, norm<Stage, Place, 1>, ts::silu,
                          excitation<Stage, Place, Expansion * In, (In < 4 ? 1 : In / 4)>, narrow<Stage, Place, Out>,
                          norm<Stage, Place, 2>>;
} // namespace efficientnet_layers

/// A stage of Blocks times MBConv; the first has the stride.
template <int Blocks, ts::index_t Out, ts::index_t Expansion, int Window, int Stride>
struct mbconv_stage {
    static constexpr int blocks = Blocks;
    static constexpr ts::index_t out = Out;

    template <int Stage, ts::index_t In>
    using first = efficientnet_layers::mbconv<Stage, 0, In, Out, Expansion, Window, Stride>;
    /// Goes round itself; Dropped per cent of the samples do without it.
    template <int Stage, int Place, int Dropped>
    using next = ts::residual<efficientnet_layers::mbconv<Stage, Place, Out, Out, Expansion, Window, 1>,
                              ts::stochastic_depth<Dropped>>;
};

/// Dropped: per cent of the values before the classifier, and of the samples before the last block; before the first
/// none, and evenly between.
template <ts::index_t Pixels, ts::index_t Colors, ts::index_t Classes, int Dropped, ts::index_t Stem, ts::index_t Head,
          class... Stages>
struct efficientnet_parts {
    static constexpr int all_blocks = (0 + ... + Stages::blocks);
    static constexpr int dropped_at(int block) { return (Dropped * block + all_blocks / 2) / all_blocks; }

    template <int Stage, int Before, ts::index_t In, class Own, class Places>
    struct stage;
    template <int Stage, int Before, ts::index_t In, class Own, int... Place>
    struct stage<Stage, Before, In, Own, std::integer_sequence<int, Place...>> {
        using type = ts::branch<typename Own::template first<Stage, In>,
                                typename Own::template next<Stage, Place + 1, dropped_at(Before + Place + 1)>...>;
    };
    template <int Stage, int Before, ts::index_t In, class... Rest>
    struct body {
        using type = ts::branch<>;
    };
    template <int Stage, int Before, ts::index_t In, class Own, class... Rest>
    struct body<Stage, Before, In, Own, Rest...> {
        using places = std::make_integer_sequence<int, Own::blocks - 1>;
        using type = ts::branch<typename stage<Stage, Before, In, Own, places>::type,
                                typename body<Stage + 1, Before + Own::blocks, Own::out, Rest...>::type>;
    };
    using network = ts::sequential<ts::image<Colors, Pixels, Pixels>, efficientnet_layers::stem<Stem>,
                                   efficientnet_layers::stem_norm, ts::silu, typename body<1, 0, Stem, Stages...>::type,
                                   efficientnet_layers::head<Head>, efficientnet_layers::head_norm, ts::silu,
                                   ts::global_average_pool, ts::dropout<Dropped>, efficientnet_layers::classes<Classes>,
                                   ts::cross_entropy>;
};

/// EfficientNet-B0 for 224 x 224 images (Tan and Le 2019, "EfficientNet: Rethinking Model Scaling for Convolutional
/// Neural Networks", table 1).
struct efficientnet_b0
    : efficientnet_parts<224, 3, 1000, 20, 32, 1280, mbconv_stage<1, 16, 1, 3, 1>, mbconv_stage<2, 24, 6, 3, 2>,
                         mbconv_stage<2, 40, 6, 5, 2>, mbconv_stage<3, 80, 6, 3, 2>, mbconv_stage<3, 112, 6, 5, 1>,
                         mbconv_stage<4, 192, 6, 5, 2>, mbconv_stage<1, 320, 6, 3, 1>>::network {};

} // namespace networks
