// SPDX-License-Identifier: Apache-2.0
// The policy of Placeto (Addanki et al. 2019, arXiv 1906.08879, section 3, with sizes as in the authors' program) as a
// network.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/input_data.hpp"
#include "tessera/learned/graph_batch.hpp"
#include "tessera/learned/policy_loss.hpp"
#include "tessera/learned/superposition.hpp"
#include "tessera/op/add.hpp"
#include "tessera/op/concat.hpp"
#include "tessera/op/gather.hpp"
#include "tessera/op/initial.hpp"
#include "tessera/op/linear.hpp"
#include "tessera/op/matmul.hpp"
#include "tessera/op/multiply.hpp"
#include "tessera/op/pad.hpp"
#include "tessera/op/relu.hpp"
#include "tessera/op/reshape.hpp"

#include <utility>

namespace tessera::learned {

/// How large a Placeto policy is.
struct placeto_shape {
    int nodes = 64;  ///< most groups of a graph: graphs are padded to as many
    int edges = 256; ///< most edges between groups
    int devices = 4;
    int width = 8;  ///< of embeddings; in the authors' program the number of features
    int rounds = 4; ///< of messages: how many edges far a node hears

    constexpr int features() const { return 5 + devices; }
    constexpr graph_limits limits() const { return {nodes, edges, devices}; }
    constexpr bool is_sound() const { return nodes > 0 && edges > 0 && devices > 1 && width > 0 && rounds > 0; }
    friend constexpr bool operator==(const placeto_shape&, const placeto_shape&) = default;
};

/// The parts of a Placeto policy. Its inputs are the arrays of a graph_batch, and for training what policy_loss says.
///   s_v = MLP(x_v), of two hidden layers; in each of the rounds, down from parents and up from children with weights
///   of their own that all rounds share,
///   x_v <- s_v + [v has such neighbours] g(sum over them of f(x_u)).
/// f and g are an MLP of one hidden layer with ReLU behind both. What a node is after the rounds down and up, together,
/// is pooled by g_k(sum of f_k(x_u)) over the current node's ancestors, its descendants and all others, with weights of
/// their own; these three and the current node's own go through an MLP of two hidden layers to a logit for each device.
/// Weights begin as Glorot and Bengio's, biases with zeros.
template <placeto_shape S>
struct placeto_parts {
    static_assert(S.is_sound(), "tessera: a Placeto policy has at least one of everything and two devices");
    template <index_t Out>
    using dense = linear<Out, initial_weights<initial::xavier_uniform>, initial_bias<initial::zeros>>;
    static constexpr index_t both_ways = 2 * S.width;

    // Inputs.
    struct features;
    struct has_parents;
    struct has_children;
    struct from;
    struct to;
    struct into;
    struct back;
    struct current;
    struct ancestors;
    struct descendants;
    struct others;
    struct coefficients;
    struct bonuses;

    // The embedding before messages, and a round of them.
    struct embed_1 : dense<S.width> {};
    struct embed_2 : dense<S.width> {};
    struct embed_3 : dense<S.width> {};
    struct start;
    template <bool Down>
    struct say_1 : dense<S.width> {};
    template <bool Down>
    struct say_2 : dense<S.width> {};
    template <bool Down>
    struct hear_1 : dense<S.width> {};
    template <bool Down>
    struct hear_2 : dense<S.width> {};
    template <int Round, class Layer>
    using in_round = std::conditional_t<Round == 0, Layer, shared<Layer>>;
    template <bool Down, int Round>
    struct embedded_after;
    template <bool Down, int Round>
    using embedded = std::conditional_t<Round == 0, start, embedded_after<Down, Round>>;
    template <bool Down, int Round>
    struct said;
    template <bool Down, int Round>
    struct sent;
    template <bool Down, int Round>
    struct summed;
    template <bool Down, int Round>
    struct heard;
    template <bool Down, int Round>
    struct gated;
    template <bool Down, int Round>
    using round = entries<
        chain<said<Down, Round>, embedded<Down, Round>, in_round<Round, say_1<Down>>, relu,
              in_round<Round, say_2<Down>>, relu>,
        node<sent<Down, Round>, gather_rows, said<Down, Round>, std::conditional_t<Down, from, to>>,
        node<summed<Down, Round>, scatter_sum<S.nodes + 1>, sent<Down, Round>, std::conditional_t<Down, into, back>>,
        chain<heard<Down, Round>, summed<Down, Round>, crop<keep<1, 0, S.nodes>>, in_round<Round, hear_1<Down>>, relu,
              in_round<Round, hear_2<Down>>, relu>,
        node<gated<Down, Round>, multiply, heard<Down, Round>, std::conditional_t<Down, has_parents, has_children>>,
        node<embedded<Down, Round + 1>, add, gated<Down, Round>, start>>;

    // Pooling.
    struct both;
    template <class Who>
    struct tell_1 : dense<both_ways> {};
    template <class Who>
    struct tell_2 : dense<both_ways> {};
    template <class Who>
    struct take_1 : dense<both_ways> {};
    template <class Who>
    struct take_2 : dense<both_ways> {};
    template <class Who>
    struct told;
    template <class Who>
    struct gathered;
    template <class Who>
    struct pooled;
    template <class Who>
    using pooling = entries<chain<told<Who>, both, tell_1<Who>, relu, tell_2<Who>, relu>,
                            node<gathered<Who>, matmul<>, Who, told<Who>>,
                            chain<pooled<Who>, gathered<Who>, take_1<Who>, relu, take_2<Who>, relu>>;

    // The head.
    struct own;
    struct context;
    struct head_1 : dense<8 * both_ways> {};
    struct head_2 : dense<4 * both_ways> {};
    struct head_3 : dense<S.devices> {};
    struct logits;
    struct loss;

    template <int... Rounds>
    static auto network_of(std::integer_sequence<int, Rounds...>)
        -> dag<input<features, sequence<S.nodes, S.features()>>, input<has_parents, sequence<S.nodes, 1>>,
               input<has_children, sequence<S.nodes, 1>>, input<from, tokens<S.edges>>, input<to, tokens<S.edges>>,
               input<into, tokens<S.edges>>, input<back, tokens<S.edges>>, input<current, tokens<1>>,
               input<ancestors, sequence<1, S.nodes>>, input<descendants, sequence<1, S.nodes>>,
               input<others, sequence<1, S.nodes>>, input<coefficients, tessera::features<S.devices>>,
               input<bonuses, tessera::features<1>>, chain<start, features, embed_1, relu, embed_2, relu, embed_3>,
               round<true, Rounds>..., round<false, Rounds>...,
               node<both, concat, embedded<true, S.rounds>, embedded<false, S.rounds>>,
               node<own, gather_rows, both, current>, pooling<ancestors>, pooling<descendants>, pooling<others>,
               node<context, concat, own, pooled<ancestors>, pooled<descendants>, pooled<others>>,
               chain<logits, context, reshape<4 * both_ways>, head_1, relu, head_2, relu, head_3>,
               node<loss, policy_loss, logits, coefficients, bonuses>>;
    using network = decltype(network_of(std::make_integer_sequence<int, S.rounds>()));
};

/// The network that policy_loss trains; what it predicts is the logits [B,devices].
template <placeto_shape S>
struct placeto_network : placeto_parts<S>::network {};

/// What a graph_batch gives the network, in the order of its inputs, for predictions.
std::vector<input_data> inputs_of(const graph_batch& b);

} // namespace tessera::learned

#ifndef TESSERA_COMPILED
#include "tessera/learned/placeto_network.inl"
#endif

#include "tessera/base/end_header.inl"
