// SPDX-License-Identifier: Apache-2.0
// The policy of GDP (Zhou et al. 2019, "GDP: Generalized Device Placement for Dataflow Graphs", arXiv 1910.01578,
// section 3, as recalled) as a network.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/learned/ppo_loss.hpp"
#include "tessera/learned/superposition.hpp"
#include "tessera/op/add.hpp"
#include "tessera/op/concat.hpp"
#include "tessera/op/gather.hpp"
#include "tessera/op/initial.hpp"
#include "tessera/op/layer_norm.hpp"
#include "tessera/op/linear.hpp"
#include "tessera/op/matmul.hpp"
#include "tessera/op/multiply.hpp"
#include "tessera/op/pad.hpp"
#include "tessera/op/permute.hpp"
#include "tessera/op/reduce.hpp"
#include "tessera/op/relu.hpp"
#include "tessera/op/reshape.hpp"
#include "tessera/op/sigmoid.hpp"
#include "tessera/op/softmax.hpp"
#include "tessera/op/stop_gradient.hpp"

#include <utility>

namespace tessera::learned {

/// How large a GDP policy is, and which of its parts it has.
struct gdp_shape {
    int nodes = 64;    ///< most nodes of a graph: graphs are padded to as many
    int edges = 256;   ///< most edges, counted in both directions
    int features = 8;  ///< numbers of a node
    int devices = 4;   ///< choices of a node
    int width = 32;    ///< of embeddings and of the placer
    int rounds = 2;    ///< of GraphSAGE
    int layers = 2;    ///< of the placer
    int heads = 2;     ///< of its attention
    int inner = 64;    ///< width inside its feed-forward parts
    int segment = 16;  ///< nodes that attend to each other; divides `nodes`
    int samples = 8;   ///< placements of a graph in one step of training
    number clip = 0.2; ///< of PPO's ratio
    bool superposition = true;
    bool recurrence = true; ///< attention also to the segment before, through which no gradient flows
    bool attention = true;  ///< off: the placer is feed-forward parts alone, and there is nothing for recurrence to do

    constexpr int segments() const { return nodes / segment; }
    constexpr bool has_memory() const { return attention && recurrence && segments() > 1; }
    /// Positions that a node attends to.
    constexpr int seen() const { return has_memory() ? 2 * segment : segment; }
    constexpr bool is_sound() const {
        return nodes > 0 && edges > 0 && features > 0 && devices > 1 && width > 0 && rounds > 0 && layers > 0 &&
               heads > 0 && inner > 0 && segment > 0 && samples > 0 && nodes % segment == 0 && width % heads == 0 &&
               clip.value() > 0 && clip.value() < 1;
    }
};

/// The parts of a GDP policy. Its inputs are, for B graphs of at most N nodes in topological order:
///   features[B,N,F]; senders[B,E] and receivers[B,E]: edges, in both directions, those that fill up go from node 0 to
///   N, which is none;
///   shares[B,N,1]: 1 / (nodes of the graph), and 0 behind its nodes; visible[B,segments * heads,1,seen]: what is added
///   to attention's scores, 0 where a
///   graph has a node and -1e9 where it has none; prior[B,N,D]: what is added to the logits, such as zeros;
/// and for training what ppo_loss says. Encoder, jointly trained: GraphSAGE (Hamilton et al. 2017) with, in every
/// round,
///   heard_v = max over neighbours u of sigmoid(W h_u + b) (zeros where there are none), h_v' = relu(U [h_v, heard_v] +
///   c).
/// Placer: layers of Transformer-XL (Dai et al. 2019) without positions. A segment attends to itself, all of it, and to
/// what the layer before made of the segment before, behind a stop_gradient. With superposition the input of every
/// dense layer of the placer is multiplied by 1 plus a linear function of the mean of the encoder's results. One pass
/// makes the logits of all nodes. What the paper leaves open as far as recalled: norms stand behind the parts, as in
/// Transformer-XL; attention is not causal; one vector for query, key and value, which read the same.
template <gdp_shape S>
struct gdp_parts {
    static_assert(S.is_sound(),
                  "tessera: a GDP policy has at least one of everything and two devices; its segment divides "
                  "its nodes, its heads divide its width, and its clip is between 0 and 1");
    // Inputs.
    struct features;
    struct senders;
    struct receivers;
    struct shares;
    struct visible;
    struct prior;
    struct choices;
    struct before;
    struct advantages;
    struct weights;
    struct bonuses;

    /// Weights whose sums have the variance of what goes in, behind a relu, and no biases at first: with smaller
    /// weights nodes come out nearly alike.
    template <index_t Out>
    using dense = linear<Out, initial_weights<initial::kaiming_normal>, initial_bias<initial::zeros>>;

    // The encoder.
    struct first : dense<S.width> {};
    template <int Round>
    struct pool : dense<S.width> {};
    template <int Round>
    struct update : dense<S.width> {};
    template <int Round>
    struct embedded;
    template <int Round>
    struct told;
    template <int Round>
    struct sent;
    template <int Round>
    struct placed;
    template <int Round>
    struct heard;
    template <int Round>
    struct joined;
    template <int Round>
    using round = entries<chain<told<Round>, embedded<Round>, pool<Round>, sigmoid>,
                          node<sent<Round>, gather_rows, told<Round>, senders>,
                          node<placed<Round>, scatter_max<S.nodes + 1>, sent<Round>, receivers>,
                          chain<heard<Round>, placed<Round>, crop<keep<1, 0, S.nodes>>>,
                          node<joined<Round>, concat, embedded<Round>, heard<Round>>,
                          chain<embedded<Round + 1>, joined<Round>, update<Round>, relu>>;

    // The mean over a graph's nodes, and what superposition makes of it: a vector for each place of a layer.
    struct shared_out;
    struct pooled;
    static constexpr int attending = 0;
    static constexpr int merging = 1;
    static constexpr int widening = 2;
    static constexpr int narrowing = 3;
    static constexpr int choosing = 4;
    template <int Layer, int Place>
    struct condition : linear<(Place == narrowing ? S.inner : S.width)> {};
    template <int Layer, int Place>
    struct vector;
    template <int Layer, int Place>
    using vector_entry = entries_if<S.superposition, chain<vector<Layer, Place>, pooled, condition<Layer, Place>>>;
    template <int Layer, int Place>
    using modulation = typename modulate<S.superposition, vector<Layer, Place>>::type;
    using pooling = entries_if<S.superposition, node<shared_out, multiply, embedded<S.rounds>, shares>,
                               chain<pooled, shared_out, sum_over<1>>>;

    // The placer.
    template <int Layer>
    struct query : dense<S.width> {};
    template <int Layer>
    struct key : dense<S.width> {};
    template <int Layer>
    struct value : dense<S.width> {};
    template <int Layer>
    struct merge : dense<S.width> {};
    template <int Layer>
    struct wide : dense<S.inner> {};
    template <int Layer>
    struct narrow : dense<S.width> {};
    template <int Layer>
    struct attention_norm : layer_norm<> {};
    template <int Layer>
    struct feed_forward_norm : layer_norm<> {};
    struct head : linear<S.devices> {}; ///< small at first: choices begin nearly even

    template <int Layer>
    struct stream; ///< what goes into a layer
    template <int Layer>
    struct segments;
    template <int Layer>
    struct memory;
    template <int Layer>
    struct both;
    template <int Layer>
    struct context;
    template <int Layer>
    struct queries;
    template <int Layer>
    struct keys;
    template <int Layer>
    struct values;
    template <int Layer>
    struct raw_scores;
    template <int Layer>
    struct scores;
    template <int Layer>
    struct looks;
    template <int Layer>
    struct mixed;
    template <int Layer>
    struct attended;
    struct logits;
    struct loss;

    static constexpr index_t segment_count = S.segments();
    static constexpr index_t of_head = S.width / S.heads;
    /// [B,segments * Length,width] -> [B,segments * heads,Length,width / heads], and back.
    template <index_t Length>
    using split_heads = branch<reshape<segment_count, Length, S.heads, of_head>, permute<0, 1, 3, 2, 4>,
                               reshape<segment_count * S.heads, Length, of_head>>;
    using join_heads =
        branch<reshape<segment_count, S.heads, S.segment, of_head>, permute<0, 1, 3, 2, 4>, reshape<S.nodes, S.width>>;

    /// What the nodes of a segment see: the segment before, then their own. That of the first segment is zeros, which
    /// `visible` hides.
    template <int Layer>
    using with_memory = entries<
        chain<memory<Layer>, stream<Layer>, stop_gradient, crop<keep<1, 0, (S.has_memory() ? S.nodes - S.segment : 1)>>,
              pad<margin<1, S.segment, 0>>, reshape<segment_count, S.segment, S.width>>,
        chain<segments<Layer>, stream<Layer>, reshape<segment_count, S.segment, S.width>>,
        node<both<Layer>, concat_along<2>, memory<Layer>, segments<Layer>>>;
    template <int Layer>
    using seen_by = std::conditional_t<S.has_memory(), both<Layer>, stream<Layer>>;
    template <int Layer>
    using attention = entries_if<
        S.attention, vector_entry<Layer, attending>, vector_entry<Layer, merging>,
        std::conditional_t<S.has_memory(), with_memory<Layer>, entries<>>,
        chain<context<Layer>, seen_by<Layer>, reshape<segment_count * S.seen(), S.width>, modulation<Layer, attending>>,
        chain<queries<Layer>, stream<Layer>, modulation<Layer, attending>, query<Layer>, split_heads<S.segment>>,
        chain<keys<Layer>, context<Layer>, key<Layer>, split_heads<S.seen()>>,
        chain<values<Layer>, context<Layer>, value<Layer>, split_heads<S.seen()>>,
        node<raw_scores<Layer>, matmul<transpose_second, scaled>, queries<Layer>, keys<Layer>>,
        node<scores<Layer>, add, raw_scores<Layer>, visible>, node<looks<Layer>, softmax<>, scores<Layer>>,
        node<mixed<Layer>, matmul<>, looks<Layer>, values<Layer>>,
        chain<attended<Layer>, mixed<Layer>, join_heads, modulation<Layer, merging>, merge<Layer>,
              tap<add, stream<Layer>>, attention_norm<Layer>>>;
    template <int Layer>
    using into_feed_forward = std::conditional_t<S.attention, attended<Layer>, stream<Layer>>;
    template <int Layer>
    using layer = entries<attention<Layer>, vector_entry<Layer, widening>, vector_entry<Layer, narrowing>,
                          chain<stream<Layer + 1>, into_feed_forward<Layer>, modulation<Layer, widening>, wide<Layer>,
                                relu, modulation<Layer, narrowing>, narrow<Layer>, tap<add, into_feed_forward<Layer>>,
                                feed_forward_norm<Layer>>>;

    template <int... Rounds, int... Layers>
    static auto network_of(std::integer_sequence<int, Rounds...>, std::integer_sequence<int, Layers...>)
        -> dag<input<features, sequence<S.nodes, S.features>>, input<senders, tokens<S.edges>>,
               input<receivers, tokens<S.edges>>, input<shares, sequence<S.nodes, 1>>,
               input<visible, image<segment_count * S.heads, 1, S.seen()>>, input<prior, sequence<S.nodes, S.devices>>,
               input<choices, label_map<S.samples, S.nodes>>, input<before, sequence<S.samples, S.nodes>>,
               input<advantages, tessera::features<S.samples>>, input<weights, tessera::features<S.nodes>>,
               input<bonuses, tessera::features<1>>, chain<embedded<0>, features, first, relu>, round<Rounds>...,
               pooling, chain<stream<0>, embedded<S.rounds>, reshape<S.nodes, S.width>>, layer<Layers>...,
               vector_entry<S.layers, choosing>,
               chain<logits, stream<S.layers>, modulation<S.layers, choosing>, head, tap<add, prior>>,
               node<loss, ppo_loss<S.clip>, logits, choices, before, advantages, weights, bonuses>>;
    using network =
        decltype(network_of(std::make_integer_sequence<int, S.rounds>(), std::make_integer_sequence<int, S.layers>()));
};

/// The network that ppo_loss trains; what it predicts is the logits.
template <gdp_shape S>
struct gdp_network : gdp_parts<S>::network {};

} // namespace tessera::learned

#include "tessera/base/end_header.inl"
