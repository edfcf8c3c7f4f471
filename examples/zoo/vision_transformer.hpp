// SPDX-License-Identifier: Apache-2.0
// Vision Transformers.
#pragma once

#include "examples/zoo/transformers.hpp"
#include "tessera/op/pad.hpp"
#include "tessera/op/permute.hpp"
#include "tessera/op/reshape.hpp"

namespace networks {

/// Puts a learned vector at the first position of x[N,T,C], whose first position is zeros.
struct class_token : ts::operation<class_token> {
    static constexpr const char* name = "class_token";
    static constexpr void body(auto& w) {
        const auto [n, t, c] = w.loops(sample, position, channel);
        const auto x = w.input(n, t, c);
        const auto token = w.parameter(zeros, c);
        w.output(n, t, c) = x + select(w.index(t) == 0, token, 0);
    }
};

/// ViT (Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words"): patches of Patch x Patch pixels as positions of a
/// Transformer that normalizes before its parts, behind a position for the class, which starts from a vector of its own
/// and whose last state tells it.
template <ts::index_t Pixels, ts::index_t Patch, int Layers, ts::index_t Width, int Heads, ts::index_t Classes = 1000,
          ts::index_t Colors = 3>
struct vit_parts {
    static constexpr ts::index_t patches = (Pixels / Patch) * (Pixels / Patch);
    struct embed : ts::conv2d<Width, ts::window<Patch>, ts::stride<Patch>> {};
    struct places : ts::position_embedding<> {};
    struct last_norm : ts::layer_norm<> {};
    struct first_position : ts::slice<0, 1, ts::axis<1>> {};
    struct classes : ts::linear<Classes> {};
    using layers = transformer_layers<0, Width>;
    using block = ts::branch<
        ts::residual<typename layers::template norm<0>, typename layers::template attention<Heads, ts::softmax<>>>,
        ts::residual<typename layers::template norm<1>, typename layers::wide, ts::gelu, typename layers::narrow>>;
    /// With something else in place of the patches' own layer, which makes as many vectors.
    template <class... Stem>
    using behind =
        ts::sequential<ts::image<Colors, Pixels, Pixels>, Stem..., ts::reshape<Width, patches>, ts::permute<0, 2, 1>,
                       ts::pad<ts::margin<1, 1, 0>>, class_token, places, ts::repeat<Layers, block>, last_norm,
                       first_position, ts::flatten, classes, ts::cross_entropy>;
    using network = behind<embed>;
};
struct vit_b_16 : vit_parts<224, 16, 12, 768, 12>::network {};

} // namespace networks
