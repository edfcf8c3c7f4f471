// SPDX-License-Identifier: Apache-2.0
// Two towers: one vector for each of two sides.
#pragma once

#include "tessera/net/dag.hpp"
#include "tessera/net/network.hpp"
#include "tessera/op/contrastive_loss.hpp"
#include "tessera/op/losses.hpp"
#include "tessera/op/multiply.hpp"
#include "tessera/op/reduce.hpp"

namespace networks {

namespace ts = tessera;

/// A recommendation with two losses: the product of a user's vector, from what they have read, and an item's, from
/// numbers about it, predicts a rating, and both vectors what the user does with it. The rating's loss counts half.
/// Inputs: history, numbers, rating, action.
template <ts::index_t Items, ts::index_t History, ts::index_t Numbers, ts::index_t Width, ts::index_t Vector,
          ts::index_t Actions>
struct two_towers_parts {
    struct history;
    struct numbers;
    struct rating;
    struct action;
    struct user;
    struct item;
    struct both;
    struct product;
    struct predicted;
    struct scores;
    struct action_loss;
    struct items : ts::embedding<Items, Width> {};
    template <int Place, ts::index_t Out>
    struct user_layer : ts::linear<Out> {};
    template <int Place, ts::index_t Out>
    struct item_layer : ts::linear<Out> {};
    struct wide : ts::linear<Width> {};
    struct actions : ts::linear<Actions> {};
    struct rating_loss : ts::weighted_loss<ts::mse_loss, ts::weight<1, 2>> {};

    using network = ts::dag<
        ts::input<history, ts::tokens<History>>, ts::input<numbers, ts::features<Numbers>>,
        ts::input<rating, ts::features<1>>, ts::input<action, ts::labels>,
        ts::chain<user, history, items, ts::mean_over<1>, user_layer<0, Width>, ts::relu, user_layer<1, Vector>>,
        ts::chain<item, numbers, item_layer<0, Width>, ts::relu, item_layer<1, Vector>>,
        ts::node<product, ts::multiply, user, item>, ts::chain<predicted, product, ts::sum_over_kept<1>>,
        ts::node<rating_loss, rating_loss, predicted, rating>, ts::node<both, ts::concat, user, item>,
        ts::chain<scores, both, wide, ts::relu, actions>, ts::node<action_loss, ts::cross_entropy, scores, action>>;
};
struct two_towers : two_towers_parts<100000, 50, 256, 512, 128, 8>::network {};

/// Texts and pictures in one space, as CLIP learns it (Radford et al. 2021): a tower of words and one of a picture's
/// features, whose vectors of length 1 are told from all others of the global batch, both ways, with a temperature that
/// is learned. Inputs: words, features.
template <ts::index_t Vocabulary, ts::index_t Length, ts::index_t Features, ts::index_t Width, ts::index_t Vector>
struct contrastive_towers_parts {
    struct words;
    struct features;
    struct text;
    struct picture;
    struct table : ts::embedding<Vocabulary, Width> {};
    template <int Place, ts::index_t Out>
    struct text_layer : ts::linear<Out> {};
    template <int Place, ts::index_t Out>
    struct picture_layer : ts::linear<Out> {};
    struct pairs : ts::clip_loss<> {};

    using network = ts::dag<
        ts::input<words, ts::tokens<Length>>, ts::input<features, ts::features<Features>>,
        ts::chain<text, words, table, ts::mean_over<1>, text_layer<0, Width>, ts::gelu, text_layer<1, Vector>,
                  ts::l2_normalize>,
        ts::chain<picture, features, picture_layer<0, Width>, ts::gelu, picture_layer<1, Vector>, ts::l2_normalize>,
        ts::node<pairs, pairs, text, picture>>;
};
struct contrastive_towers : contrastive_towers_parts<49408, 76, 2048, 512, 512>::network {};

} // namespace networks
