// SPDX-License-Identifier: Apache-2.0
// U-Net (Ronneberger, Fischer and Brox 2015).
#pragma once

#include "tessera/net/network.hpp"

namespace networks {

namespace ts = tessera;

/// Depth times down and up again, twice the channels at every level, from Width on. Padded: the convolutions keep the
/// size, which must be a multiple of 2^Depth; else they are the paper's, without padding, and what skips a level is
/// cropped to what comes back. In training Dropped per cent of the deepest level's numbers are left out.
template <ts::index_t Size, ts::index_t Channels, ts::index_t Classes, ts::index_t Width, int Depth, bool Padded,
          int Dropped = 50>
struct unet_parts {
    static constexpr ts::index_t border = Padded ? 0 : 4; ///< of two convolutions

    template <int Level, int Place>
    struct conv : ts::conv2d<(Width << Level), ts::window<3>, ts::padding<Padded ? 1 : 0>> {};
    template <int Level>
    struct up : ts::transposed_conv2d<(Width << Level), ts::window<2>, ts::stride<2>> {};
    struct scores : ts::conv2d<Classes> {};

    /// What comes out of a level of rows of `size`.
    static constexpr ts::index_t out(int level, ts::index_t size) {
        return level == Depth ? size - border : 2 * out(level + 1, (size - border) / 2) - border;
    }
    template <ts::index_t From, ts::index_t To>
    struct cropped {
        static constexpr ts::index_t begin = (From - To) / 2;
        using type = ts::branch<ts::slice<begin, To, ts::axis<2>>, ts::slice<begin, To, ts::axis<3>>>;
    };
    template <ts::index_t Same>
    struct cropped<Same, Same> {
        using type = ts::branch<>;
    };

    template <int Level, int Place>
    using two = ts::branch<conv<Level, Place>, ts::relu, conv<Level, Place + 1>, ts::relu>;
    template <int Level, ts::index_t Rows>
    struct level {
        static constexpr ts::index_t inner = Rows - border;
        static constexpr ts::index_t back = 2 * out(Level + 1, inner / 2);
        using type =
            ts::branch<two<Level, 0>,
                       ts::branches<ts::concat, typename cropped<inner, back>::type,
                                    ts::branch<ts::max_pool<2>, typename level<Level + 1, inner / 2>::type, up<Level>>>,
                       two<Level, 2>>;
    };
    template <ts::index_t Rows>
    struct level<Depth, Rows> {
        using type = ts::branch<two<Depth, 0>, ts::dropout<Dropped>>;
    };

    using network =
        ts::sequential<ts::image<Channels, Size, Size>, typename level<0, Size>::type, scores, ts::cross_entropy>;
};

/// The paper's: 572 x 572 grey pixels, 388 x 388 labels of two classes, 23 convolutions.
struct unet : unet_parts<572, 1, 2, 64, 4, false>::network {};
/// With padding, for images of any multiple of 16 pixels, as it is mostly used.
template <ts::index_t Size, ts::index_t Channels = 3, ts::index_t Classes = 2, ts::index_t Width = 64, int Depth = 4>
struct padded_unet : unet_parts<Size, Channels, Classes, Width, Depth, true>::network {};

} // namespace networks
