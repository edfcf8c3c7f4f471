// SPDX-License-Identifier: Apache-2.0
// Two towers: one vector for each of two sides.
#pragma once

#include "tessera/net/dag.hpp"
#include "tessera/net/network.hpp"
#include "tessera/op/losses.hpp"
#include "tessera/op/multiply.hpp"
#include "tessera/op/reduce.hpp"

namespace networks {

namespace ts = tessera;

/// A recommendation with two losses: the product of a user's vector, from what they have read, and an item's, from numbers about it, predicts a rating,
/// and both vectors what the user does with it. The rating's loss counts half. Inputs: history, numbers, rating, action.
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

} // namespace networks
