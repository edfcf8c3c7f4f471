// SPDX-License-Identifier: Apache-2.0
// Small networks on which any strategy must give the numbers of one device.
#pragma once

#include "tessera/net/dag.hpp"
#include "tessera/net/describe.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/part/lstm.hpp"
#include "tessera/part/one_dimension.hpp"
#include "tessera/part/residual.hpp"
#include "tessera/part/routing.hpp"

namespace test_networks {

namespace ts = tessera;

namespace lenet5 {
struct conv1 : ts::conv2d<6, ts::window<5>, ts::padding<2>> {};
struct conv2 : ts::conv2d<16, ts::window<5>> {};
struct fc1 : ts::linear<120> {};
struct fc2 : ts::linear<84> {};
struct fc3 : ts::linear<10> {};
struct network : ts::sequential<ts::image<1, 28, 28>, conv1, ts::average_pool<2>, ts::relu, conv2, ts::relu,
                                ts::max_pool<2>, ts::flatten, fc1, ts::relu, fc2, ts::relu, fc3, ts::cross_entropy> {};
} // namespace lenet5

namespace residual_net {
struct stem : ts::conv2d<8, ts::window<3>, ts::padding<1>, ts::no_bias> {};
struct norm0 : ts::batch_norm<> {};
struct conv : ts::conv2d<8, ts::window<3>, ts::padding<1>, ts::no_bias> {};
struct norm : ts::batch_norm<> {};
struct down : ts::conv2d<12, ts::window<3>, ts::stride<2>, ts::padding<1>, ts::groups<4>> {};
struct project : ts::conv2d<12, ts::window<1>, ts::stride<2>> {};
struct fc : ts::linear<10> {};
struct network
    : ts::sequential<ts::image<3, 12, 12>, stem, norm0, ts::relu, ts::repeat<2, ts::residual<conv, norm, ts::relu>>,
                     ts::branches<ts::add, ts::branch<down>, ts::branch<project>>, ts::gelu, ts::channel_dropout<25>,
                     ts::global_average_pool, fc, ts::cross_entropy> {};
} // namespace residual_net

namespace residual_volumes { // a small residual network of volumes
struct stem : ts::conv3d<6, ts::window<3>, ts::padding<1>, ts::no_bias> {};
struct norm0 : ts::batch_norm<> {};
struct conv : ts::conv3d<6, ts::window<3>, ts::padding<1>, ts::no_bias> {};
struct norm : ts::batch_norm<> {};
struct down : ts::conv3d<8, ts::window<3, 2, 3>, ts::stride<2, 1, 2>, ts::padding<1, 0, 1>, ts::groups<2>> {};
struct project : ts::conv3d<8, ts::window<1, 2, 1>, ts::stride<2, 1, 2>> {};
struct wide : ts::conv3d<4, ts::window<2, 1, 3>, ts::dilation<2, 1, 1>, ts::padding<1, 0, 1>> {};
struct fc : ts::linear<5> {};
struct network : ts::sequential<ts::volume<2, 6, 5, 6>, stem, norm0, ts::relu, ts::residual<conv, norm, ts::relu>,
                                ts::branches<ts::add, ts::branch<down>, ts::branch<project>>, ts::gelu,
                                ts::branches<ts::concat, ts::branch<ts::max_pool3d<3, ts::stride<1>, ts::padding<1>>>,
                                             ts::branch<ts::average_pool3d<3, ts::stride<1>, ts::padding<1>>>>,
                                ts::channel_dropout<25>, wide, ts::relu,
                                ts::max_pool3d<2, ts::window<1, 2, 2>, ts::stride<1, 2, 1>>, ts::global_average_pool,
                                fc, ts::cross_entropy> {};
} // namespace residual_volumes

namespace voxels {
struct enter : ts::conv3d<4, ts::window<3>, ts::padding<1>> {};
struct leave : ts::conv3d<3, ts::window<1>> {};
struct skip;
struct network : ts::sequential<ts::volume<2, 4, 5, 3>, enter, ts::save<skip>, ts::instance_norm<>, ts::relu,
                                ts::average_pool3d<3, ts::stride<1>, ts::padding<1>, ts::count_padding>,
                                ts::dropout<20>, ts::tap<ts::concat, skip>, leave, ts::cross_entropy> {};
} // namespace voxels

namespace inception {
struct stem : ts::conv2d<8, ts::window<3>, ts::stride<2>> {};
struct one : ts::conv2d<4, ts::window<1>> {};
struct reduce3 : ts::conv2d<4, ts::window<1>> {};
struct three : ts::conv2d<6, ts::window<3>, ts::padding<1>> {};
struct tall : ts::conv2d<4, ts::window<5, 1>, ts::padding<2, 0>> {};
struct pooled : ts::conv2d<2, ts::window<1>> {};
struct fc : ts::linear<10> {};
struct network
    : ts::sequential<
          ts::image<3, 15, 15>, stem, ts::tanh,
          ts::branches<ts::concat, ts::branch<one>, ts::branch<reduce3, ts::sigmoid, three>, ts::branch<tall>,
                       ts::branch<ts::average_pool<3, ts::stride<1>, ts::padding<1>>, pooled>>,
          ts::relu, ts::max_pool<3, ts::stride<2>>, ts::dropout<20>, ts::flatten, fc, ts::cross_entropy> {};
} // namespace inception

namespace unet {
struct enter : ts::conv2d<6, ts::window<3>, ts::padding<1>> {};
struct middle : ts::conv2d<6, ts::window<3>, ts::padding<2>, ts::dilation<2>> {};
struct leave : ts::conv2d<3, ts::window<1>> {};
struct gate : ts::conv2d<6, ts::window<3>, ts::padding<1>> {};
struct skip;
struct first;
struct network : ts::sequential<ts::image<2, 8, 8>, enter, ts::save<skip>, ts::relu,
                                ts::average_pool<3, ts::stride<1>, ts::padding<1>, ts::count_padding>, middle, ts::relu,
                                ts::save<first>, ts::shared<gate>, ts::sigmoid, ts::tap<ts::multiply, first>,
                                ts::shared<gate>, ts::tap<ts::concat, skip>, leave, ts::cross_entropy> {};
} // namespace unet

namespace mlp {
struct fc1 : ts::linear<24> {};
struct fc2 : ts::linear<18, ts::no_bias> {};
struct fc3 : ts::linear<10> {};
struct network
    : ts::sequential<ts::features<20>, fc1, ts::dropout<10>, ts::gelu, fc2, ts::tanh, fc3, ts::cross_entropy> {};
} // namespace mlp

/// Frozen layers: at the beginning, where nothing goes backward, and in the middle, where only the input's gradient
/// does.
namespace frozen_net {
struct conv1 : ts::conv2d<4, ts::window<3>, ts::frozen> {};
struct norm1 : ts::batch_norm<ts::frozen> {};
struct conv2 : ts::conv2d<6, ts::window<3>> {};
struct fc1 : ts::linear<12, ts::frozen> {};
struct fc2 : ts::linear<5> {};
struct network : ts::sequential<ts::image<2, 8, 8>, conv1, norm1, ts::relu, conv2, ts::tanh, ts::max_pool<2>,
                                ts::flatten, fc1, ts::gelu, fc2, ts::cross_entropy> {};
} // namespace frozen_net

/// A dag: two inputs, a shared layer, a tensor used three times, two weighted losses.
namespace two_losses {
struct left;
struct right;
struct near_labels;
struct far_labels;
struct first;
struct bent;
struct joined;
struct doubled;
struct tower : ts::linear<12> {};
struct tower_left;
struct tower_right;
struct near_logits;
struct far_logits;
struct near_loss;
struct far_loss;
using network =
    ts::dag<ts::input<left, ts::features<9>>, ts::input<right, ts::features<12>>, ts::input<near_labels, ts::labels>,
            ts::input<far_labels, ts::labels>, ts::node<first, ts::linear<12>, left>,
            ts::node<joined, ts::add, first, right>, ts::node<tower_left, ts::shared<tower>, joined>,
            ts::node<bent, ts::sigmoid, tower_left>, ts::node<tower_right, ts::shared<tower>, bent>,
            ts::node<doubled, ts::add, tower_right, tower_right>, ts::node<near_logits, ts::linear<4>, doubled>,
            ts::node<far_logits, ts::linear<6, ts::no_bias>, bent>,
            ts::node<near_loss, ts::weighted_cross_entropy<ts::weight<1, 4>>, near_logits, near_labels>,
            ts::node<far_loss, ts::weighted_cross_entropy<ts::weight<2>>, far_logits, far_labels>>;
} // namespace two_losses

/// A block of a Transformer that predicts the next token, its output layer tied to its embedding.
namespace transformer {
struct words : ts::embedding<11, 8> {};
struct places : ts::position_embedding<> {};
struct norm1 : ts::layer_norm<> {};
struct query : ts::linear<8> {};
struct key : ts::linear<8> {};
struct value : ts::linear<8> {};
struct merge : ts::linear<8> {};
struct norm2 : ts::layer_norm<> {};
struct wide : ts::linear<20> {};
struct narrow : ts::linear<8, ts::no_bias> {};
struct norm3 : ts::layer_norm<> {};
struct logits : ts::linear<11> {};
using attention = ts::self_attention<2, query, key, value, merge, ts::softmax<ts::causal>, ts::dropout<20>>;
struct network
    : ts::sequential<ts::tokens<6>, words, places, ts::dropout<10>, ts::residual<norm1, attention>,
                     ts::residual<norm2, wide, ts::gelu, narrow>, norm3, ts::tied<logits, words>, ts::cross_entropy> {};
} // namespace transformer

/// Attention with few heads of keys, in a window, and of padded sequences.
namespace grouped_attention {
struct words : ts::embedding<11, 8> {};
struct norm1 : ts::layer_norm<> {};
struct query1 : ts::linear<8> {};
struct key1 : ts::linear<4> {};
struct value1 : ts::linear<6> {};
struct merge1 : ts::linear<8> {};
struct windowed
    : ts::attention<ts::heads<4>, ts::key_heads<2>, ts::causal, ts::sliding_window<3>, ts::softcap<3>, ts::alibi> {};
struct norm2 : ts::layer_norm<> {};
struct query2 : ts::linear<8> {};
struct key2 : ts::linear<4> {};
struct value2 : ts::linear<4> {};
struct merge2 : ts::linear<8> {};
struct within : ts::padded_attention<ts::heads<2>, ts::key_heads<1>, ts::percent<10>> {};
struct logits : ts::linear<11> {};
struct network
    : ts::sequential<ts::tokens<5>, words,
                     ts::residual<norm1, ts::self_attention<4, query1, key1, value1, merge1, windowed>>,
                     ts::residual<norm2, ts::self_attention<2, query2, key2, value2, merge2, ts::with_lengths<within>>>,
                     logits, ts::cross_entropy> {};
} // namespace grouped_attention

/// Attention with tables of buckets: one that two layers share, the other one's input padded anywhere.
namespace biased_attention {
struct words : ts::embedding<11, 8> {};
struct norm1 : ts::layer_norm<> {};
struct query1 : ts::linear<8> {};
struct key1 : ts::linear<4> {};
struct value1 : ts::linear<6> {};
struct merge1 : ts::linear<8> {};
struct biased : ts::attention<ts::heads<4>, ts::key_heads<2>, ts::causal, ts::position_buckets<6, 4>> {};
struct norm2 : ts::layer_norm<> {};
struct query2 : ts::linear<8> {};
struct key2 : ts::linear<8> {};
struct value2 : ts::linear<8> {};
struct merge2 : ts::linear<8> {};
struct within : ts::padded_attention<ts::heads<2>, ts::position_buckets<8, 5>, ts::percent<10>, ts::score_scale<1>,
                                     ts::initial_weights<ts::initial::normal<1, 2>>> {};
struct logits : ts::linear<11> {};
struct network
    : ts::sequential<
          ts::tokens<6>, words,
          ts::repeat<2, ts::residual<norm1, ts::self_attention<4, query1, key1, value1, merge1, ts::shared<biased>>>>,
          ts::residual<norm2, ts::self_attention<2, query2, key2, value2, merge2, ts::with_mask<within>>>, logits,
          ts::cross_entropy> {};
} // namespace biased_attention

/// Two LSTM layers, a classification of what the last step says.
namespace recurrent {
struct words : ts::embedding<9, 5> {};
struct in1 : ts::linear<24> {};
struct again1 : ts::linear<24, ts::no_bias> {};
struct in2 : ts::linear<16> {};
struct again2 : ts::linear<16, ts::no_bias> {};
struct logits : ts::linear<3> {};
using cells = ts::lstm<3, ts::lstm_cell<6, in1, again1>, ts::lstm_cell<4, in2, again2>>;
struct network : ts::sequential<ts::tokens<3>, words, cells, ts::slice<2, 1, ts::axis<1>>, ts::flatten, logits,
                                ts::cross_entropy> {};
} // namespace recurrent

/// Encoder and decoder of one LSTM layer each, with attention to the encoder's states.
namespace translator {
struct source;
struct target;
struct truth;
struct memory;
struct scores;
struct loss;
struct state;
struct source_words : ts::embedding<7, 6> {};
struct target_words : ts::embedding<8, 4> {};
struct encode : ts::linear<16> {};
struct encode_again : ts::linear<16, ts::no_bias> {};
struct decode : ts::linear<16> {};
struct decode_again : ts::linear<16, ts::no_bias> {};
struct query : ts::linear<4> {};
struct key : ts::linear<4> {};
struct value : ts::linear<4> {};
struct merge : ts::linear<4> {};
struct mix : ts::linear<6> {};
struct logits : ts::linear<8> {};
using encoder = ts::lstm_cell<4, encode, encode_again>;
using decoder = ts::lstm_cell<4, decode, decode_again, encoder>;
using network = ts::dag<ts::input<source, ts::tokens<3>>, ts::input<target, ts::tokens<2>>,
                        ts::input<truth, ts::tokens<2>>, ts::chain<memory, source, source_words, ts::lstm<3, encoder>>,
                        ts::chain<scores, target, target_words, ts::lstm<2, decoder>, ts::save<state>,
                                  ts::cross_attention<memory, 1, query, key, value, merge, ts::softmax<>>,
                                  ts::tap<ts::concat, state>, mix, ts::tanh, logits>,
                        ts::node<loss, ts::cross_entropy, scores, truth>>;
} // namespace translator

/// Images and sequences whose elements are moved in every way, between layers that compute; channels that are weighed
/// by what all pixels say.
namespace moved {
struct conv : ts::conv2d<6, ts::window<3>, ts::padding<1>> {};
struct weigh : ts::linear<6> {};
struct mix : ts::linear<5> {};
struct along : ts::conv1d<5, ts::window<3>, ts::padding<1>> {};
struct fc : ts::linear<7> {};
using around = ts::pad<ts::margin<2, 1>, ts::margin<3, 0, 2>>;
using inside = ts::crop<ts::keep<2, 1, 6>, ts::keep<3, 1, 6>>;
using weights =
    ts::branch<ts::global_average_pool, weigh, ts::sigmoid, ts::reshape<6, 1, 1>, ts::broadcast_to<-1, 6, 6>>;
struct network
    : ts::sequential<ts::image<2, 6, 6>, around, conv, ts::roll<ts::shift<2, 3>, ts::shift<3, -2>>, inside, ts::tanh,
                     ts::branches<ts::multiply, ts::branch<ts::flip<2>>, weights>, ts::permute<0, 2, 3, 1>,
                     ts::reshape<36, 6>, mix, ts::roll<ts::shift<1, 5>>, along, ts::max_pool1d<2>, ts::permute<0, 2, 1>,
                     ts::reshape<10, -1>, ts::flip<1, 2>, ts::tanh, ts::flatten, fc, ts::cross_entropy> {};
} // namespace moved

/// Tokens that are sent to experts, of which some are dropped, with the losses of a router; and experts chosen with a
/// bias.
namespace routed {
struct words : ts::embedding<9, 6> {};
struct gate : ts::linear<4, ts::no_bias> {};
struct scores : ts::linear<4, ts::no_bias> {};
struct bias : ts::choice_bias<> {};
struct few : ts::token_slots<ts::top<2>, ts::capacity<2>> {};
struct all : ts::token_slots<ts::top<2>, ts::no_drop> {};
struct up : ts::routed_linear<8> {};
struct down : ts::routed_linear<6> {};
struct left : ts::routed_linear<5> {};
struct right : ts::routed_linear<5> {};
struct back : ts::routed_linear<6> {};
struct logits : ts::linear<7> {};
using router = ts::branch<gate, ts::aside<ts::router_z_loss<ts::weight<1, 50>>>, ts::softmax<>,
                          ts::aside<ts::load_balance<2, ts::weight<1, 20>>>>;
using balanced = ts::branch<scores, ts::sigmoid, ts::bias_balanced<2, bias>>;
using gated = ts::branches<ts::multiply, ts::branch<ts::with_slots<left>, ts::tanh>, ts::with_slots<right>>;
struct network
    : ts::sequential<
          ts::tokens<5>, words,
          ts::residual<ts::routed_experts<few, router, ts::with_slots<up>, ts::sigmoid, ts::with_slots<down>>>,
          ts::residual<ts::routed_experts<all, balanced, gated, ts::with_slots<back>>>, logits, ts::cross_entropy> {};
} // namespace routed

} // namespace test_networks
