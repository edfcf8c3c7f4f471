// SPDX-License-Identifier: Apache-2.0
// Text to text: T5.
#pragma once

#include "tessera/net/dag.hpp"
#include "tessera/net/network.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/part/gated.hpp"
#include "tessera/part/residual.hpp"

#include <type_traits>

namespace networks {

namespace ts = tessera;

namespace text_to_text {
struct source;
struct target;
struct truth;
struct memory;
struct scores;
struct loss;
} // namespace text_to_text

/// Inner is the width of the feed-forward networks.
template <int Layers, ts::index_t Width, ts::index_t Inner, int Heads, ts::index_t HeadWidth = 64,
          ts::index_t Vocabulary = 32128, ts::index_t Tokens = 512, ts::index_t Buckets = 32,
          ts::index_t Farthest = 128>
struct t5_sizes {
    static constexpr int layers = Layers, heads = Heads;
    static constexpr ts::index_t width = Width, inner = Inner, head_width = HeadWidth, vocabulary = Vocabulary,
                                 tokens = Tokens, buckets = Buckets, farthest = Farthest;
};

/// T5 (Raffel et al. 2020, "Exploring the limits of transfer learning"): an encoder and a decoder of S::layers each with
/// norms before the parts, no biases, one table of position buckets for all layers of each, and scores without a scale.
/// Its output layer is the table of words, behind a factor Smaller, 1 / sqrt(width). Version 1.1, which has no such
/// factor (Smaller is 0): an output layer of its own, feed-forward networks gated by gelu (exact, where the published
/// one is approximated by a tanh), and no dropout. Inputs: source, target, truth.
template <class S, ts::number Smaller>
struct t5_parts {
    static constexpr bool is_first = Smaller.value() != 0;
    static constexpr int percent = is_first ? 10 : 0;
    /// Part 0 is the encoder's, 1 the decoder's, 2 the decoder's attention to the encoder.
    template <int Part>
    struct layers {
        struct query : ts::linear<S::heads * S::head_width, ts::no_bias> {};
        struct key : ts::linear<S::heads * S::head_width, ts::no_bias> {};
        struct value : ts::linear<S::heads * S::head_width, ts::no_bias> {};
        struct merge : ts::linear<S::width, ts::no_bias> {};
        struct gate : ts::linear<S::inner, ts::no_bias> {};
        struct wide : ts::linear<S::inner, ts::no_bias> {};
        struct narrow : ts::linear<S::width, ts::no_bias> {};
        struct norm : ts::rms_norm<ts::epsilon<1e-6>> {};
        struct next_norm : ts::rms_norm<ts::epsilon<1e-6>> {};
        struct last_norm : ts::rms_norm<ts::epsilon<1e-6>> {};
    };
    using encoder = layers<0>;
    using decoder = layers<1>;
    using reader = layers<2>;
    template <class... Options>
    using weights = ts::attention<ts::heads<S::heads>, ts::score_scale<1>, ts::percent<percent>, Options...>;
    using buckets = ts::position_buckets<S::buckets, S::farthest>;
    struct both_ways : weights<buckets> {};
    struct backwards : weights<buckets, ts::causal> {};
    struct anywhere : weights<> {};
    struct words : ts::embedding<S::vocabulary, S::width> {};
    struct logits : ts::linear<S::vocabulary, ts::no_bias> {};

    using drops = std::conditional_t<is_first, ts::dropout<10>, ts::branch<>>;
    template <class Norm, class... Parts>
    using residual = ts::residual<Norm, Parts..., drops>;
    template <class L, class Core>
    using attends =
        residual<typename L::norm, ts::self_attention<S::heads, typename L::query, typename L::key, typename L::value,
                                                      typename L::merge, ts::shared<Core>>>;
    using reads =
        residual<typename reader::norm,
                 ts::cross_attention<text_to_text::memory, S::heads, typename reader::query, typename reader::key,
                                     typename reader::value, typename reader::merge, anywhere>>;
    template <class L>
    using middle = std::conditional_t<is_first, ts::branch<typename L::wide, ts::relu, drops, typename L::narrow>,
                                      ts::geglu<typename L::gate, typename L::wide, typename L::narrow>>;
    template <class L>
    using feed_forward = residual<typename L::next_norm, middle<L>>;
    using output =
        std::conditional_t<is_first, ts::branch<ts::scale<is_first ? Smaller : 1>, ts::tied<logits, words>>, logits>;

    using network = ts::dag<ts::input<text_to_text::source, ts::tokens<S::tokens>>,
                            ts::input<text_to_text::target, ts::tokens<S::tokens>>,
                            ts::input<text_to_text::truth, ts::tokens<S::tokens>>,
                            ts::chain<text_to_text::memory, text_to_text::source, words, drops,
                                      ts::repeat<S::layers, attends<encoder, both_ways>, feed_forward<encoder>>,
                                      typename encoder::last_norm, drops>,
                            ts::chain<text_to_text::scores, text_to_text::target, ts::shared<words>, drops,
                                      ts::repeat<S::layers, attends<decoder, backwards>, reads, feed_forward<decoder>>,
                                      typename decoder::last_norm, drops, output>,
                            ts::node<text_to_text::loss, ts::cross_entropy, text_to_text::scores, text_to_text::truth>>;
};
/// 1 / sqrt(512) and 1 / sqrt(768).
struct t5_small : t5_parts<t5_sizes<6, 512, 2048, 8>, 0.04419417382415922>::network {};
struct t5_base : t5_parts<t5_sizes<12, 768, 3072, 12>, 0.03608439182435161>::network {};
/// Flan-T5 (Chung et al. 2022) has the same.
struct t5_v1_1_small : t5_parts<t5_sizes<8, 512, 1024, 6>, 0>::network {};
struct t5_v1_1_base : t5_parts<t5_sizes<12, 768, 2048, 12>, 0>::network {};

} // namespace networks
