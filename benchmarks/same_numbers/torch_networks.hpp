// SPDX-License-Identifier: Apache-2.0
// Small networks of the kinds that are trained today, as they can be written with today's operators. Where one takes a detour, it says so.
#pragma once

#include "tessera/net/network.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/part/lstm.hpp"
#include "tessera/part/residual.hpp"

namespace torch_networks {

namespace ts = tessera;

/// Two LSTMs one on the other, each with both of PyTorch's biases, unrolled over 7 words.
struct lstm {
    struct words : ts::embedding<50, 12> {};
    template <int Cell, bool Input>
    struct gates : ts::linear<4 * 16> {};
    template <int Cell>
    using cell = ts::lstm_cell<16, gates<Cell, true>, gates<Cell, false>>;
    struct scores : ts::linear<50> {};
    using network = ts::sequential<ts::tokens<7>, words, ts::lstm<7, cell<0>, cell<1>>, scores, ts::cross_entropy>;
};

/// ResNeXt: bottlenecks whose 3 x 3 convolution has 8 groups (Xie et al. 2017).
struct resnext {
    struct stem : ts::conv2d<16, ts::window<3>, ts::padding<1>, ts::no_bias> {};
    struct stem_norm : ts::batch_norm<> {};
    template <int Block, ts::index_t Width, int Stride, bool Projects>
    struct bottleneck {
        struct narrow : ts::conv2d<Width, ts::no_bias> {};
        struct grouped
            : ts::conv2d<Width, ts::window<3>, ts::stride<Stride>, ts::padding<1>, ts::groups<8>, ts::no_bias> {};
        struct wide : ts::conv2d<2 * Width, ts::no_bias> {};
        struct project : ts::conv2d<2 * Width, ts::stride<Stride>, ts::no_bias> {};
        template <int Place>
        struct norm : ts::batch_norm<> {};
        using body = ts::branch<narrow, norm<0>, ts::relu, grouped, norm<1>, ts::relu, wide, norm<2>>;
        using shortcut = ts::branch<project, norm<3>>;
    };
    template <class B>
    using projecting = ts::branch<ts::branches<ts::add, typename B::body, typename B::shortcut>, ts::relu>;
    template <class B>
    using plain = ts::branch<ts::residual<typename B::body>, ts::relu>;
    struct scores : ts::linear<10> {};
    using network =
        ts::sequential<ts::image<3, 12, 12>, stem, stem_norm, ts::relu, projecting<bottleneck<0, 16, 1, true>>,
                       plain<bottleneck<1, 16, 1, false>>, projecting<bottleneck<2, 32, 2, true>>,
                       ts::global_average_pool, scores, ts::cross_entropy>;
};

/// A transformer's layers, normalized before they compute, 32 channels wide.
struct transformer {
    template <int Place>
    struct norm : ts::layer_norm<> {};
    struct query : ts::linear<32> {};
    struct key : ts::linear<32> {};
    struct value : ts::linear<32> {};
    struct merge : ts::linear<32> {};
    struct wide : ts::linear<128> {};
    struct narrow : ts::linear<32> {};
    template <class Softmax>
    using block_of = ts::branch<ts::residual<norm<0>, ts::self_attention<4, query, key, value, merge, Softmax>>,
                                ts::residual<norm<1>, wide, ts::gelu, narrow>>;
    struct last_norm : ts::layer_norm<> {};
};

/// A vision transformer (Dosovitskiy et al. 2021) on images of 16 x 16 pixels in patches of 4 x 4. Detours: the caller cuts the patches,
/// [N,1+16,48], for nothing turns an image into a sequence; there is no token for the class: the first patch is zeros, so that what
/// is learned for it is the bias and the first position's vector; its scores are a sequence of length 1.
struct vit : transformer {
    struct patches : ts::linear<32> {};
    struct places : ts::position_embedding<> {};
    struct scores : ts::linear<10> {};
    using network = ts::sequential<ts::sequence<17, 48>, patches, places, ts::repeat<2, block_of<ts::softmax<>>>,
                                   last_norm, ts::slice<0, 1, ts::axis<1>>, scores, ts::cross_entropy>;
};

/// GPT-2's layers, the scores tied to the embedding; without dropout, whose numbers no two libraries draw alike.
struct gpt : transformer {
    struct words : ts::embedding<60, 32> {};
    struct places : ts::position_embedding<> {};
    struct scores : ts::linear<60, ts::no_bias> {};
    using network = ts::sequential<ts::tokens<16>, words, places, ts::repeat<2, block_of<ts::softmax<ts::causal>>>,
                                   last_norm, ts::tied<scores, words>, ts::cross_entropy>;
};

/// U-Net with padding, two levels deep, a label for each pixel.
struct unet {
    template <int Level, int Place>
    struct conv : ts::conv2d<(8 << Level), ts::window<3>, ts::padding<1>> {};
    template <int Level>
    struct up : ts::transposed_conv2d<(8 << Level), ts::window<2>, ts::stride<2>> {};
    struct scores : ts::conv2d<3> {};
    template <int Level, int Place>
    using two = ts::branch<conv<Level, Place>, ts::relu, conv<Level, Place + 1>, ts::relu>;
    template <int Level, class Below>
    using level =
        ts::branch<two<Level, 0>, ts::branches<ts::concat, ts::branch<>, ts::branch<ts::max_pool<2>, Below, up<Level>>>,
                   two<Level, 2>>;
    using network = ts::sequential<ts::image<3, 16, 16>, level<0, level<1, two<2, 0>>>, scores, ts::cross_entropy>;
};

/// EfficientNet's block (Tan and Le 2019): widen, a convolution of each channel by itself, squeeze and excite, narrow. Detours: swish is
/// x times sigmoid(x) as a join; what each channel is excited by reaches its pixels by a frozen transposed convolution, whose weight
/// [in,out] is 1 where in is out: tensors of different extents are not multiplied.
struct mbconv {
    using swish = ts::branches<ts::multiply, ts::branch<>, ts::branch<ts::sigmoid>>;
    struct stem : ts::conv2d<8, ts::window<3>, ts::stride<2>, ts::padding<1>, ts::no_bias> {};
    struct stem_norm : ts::batch_norm<> {};
    struct widen : ts::conv2d<32, ts::no_bias> {};
    struct each_channel : ts::conv2d<32, ts::window<3>, ts::padding<1>, ts::groups<32>, ts::no_bias> {};
    struct squeeze : ts::conv2d<4> {};
    struct excite : ts::conv2d<32> {};
    struct spread : ts::transposed_conv2d<32, ts::window<8>, ts::stride<8>, ts::no_bias, ts::frozen> {};
    struct narrow : ts::conv2d<8, ts::no_bias> {};
    template <int Place>
    struct norm : ts::batch_norm<> {};
    struct scores : ts::linear<10> {};
    using excitation = ts::branches<ts::multiply, ts::branch<>,
                                    ts::branch<ts::average_pool<8>, squeeze, swish, excite, ts::sigmoid, spread>>;
    using network =
        ts::sequential<ts::image<3, 16, 16>, stem, stem_norm, swish,
                       ts::residual<widen, norm<0>, swish, each_channel, norm<1>, swish, excitation, narrow, norm<2>>,
                       ts::global_average_pool, scores, ts::cross_entropy>;
};

} // namespace torch_networks
