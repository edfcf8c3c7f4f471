// SPDX-License-Identifier: Apache-2.0
// Language models of LLaMA's form whose heads of queries share keys and values: LLaMA 3, Mistral, Qwen 3, Gemma and
// Gemma 2. Sizes are those of the published configurations.
#pragma once

#include "examples/zoo/llama.hpp"
#include "tessera/op/scale.hpp"
#include "tessera/op/tanh.hpp"

namespace networks {

/// The numbers of a configuration: queries have Heads of HeadWidth channels, keys and values KeyHeads of them.
template <int Layers, ts::index_t Width, int Heads, int KeyHeads, ts::index_t HeadWidth, ts::index_t Hidden,
          ts::index_t Context, ts::index_t Vocabulary>
struct decoder_sizes {
    static constexpr int layers = Layers;
    static constexpr ts::index_t width = Width;
    static constexpr int heads = Heads;
    static constexpr int key_heads = KeyHeads;
    static constexpr ts::index_t head_width = HeadWidth;
    static constexpr ts::index_t hidden = Hidden;
    static constexpr ts::index_t context = Context;
    static constexpr ts::index_t vocabulary = Vocabulary;
};

/// Layers of a decoder of sizes S; Block tells those of blocks that differ apart, Norm is every norm, and Turn are
/// options of the rotations.
template <class S, int Block, class Norm, class... Turn>
struct decoder_layers {
    struct words : ts::embedding<S::vocabulary, S::width> {};
    struct query : ts::linear<S::heads * S::head_width, ts::no_bias> {};
    struct key : ts::linear<S::key_heads * S::head_width, ts::no_bias> {};
    struct value : ts::linear<S::key_heads * S::head_width, ts::no_bias> {};
    struct merge : ts::linear<S::width, ts::no_bias> {};
    struct gate : ts::linear<S::hidden, ts::no_bias> {};
    struct up : ts::linear<S::hidden, ts::no_bias> {};
    struct down : ts::linear<S::width, ts::no_bias> {};
    template <int Place>
    struct norm : Norm {};
    struct last_norm : Norm {};
    struct logits : ts::linear<S::vocabulary, ts::no_bias> {};

    template <int Heads>
    using rotary = ts::rotary<ts::heads<Heads>, Turn...>;
    /// Query and Key end in layers of queries and keys; Sees are options of the attention.
    template <class Query, class Key, class... Sees>
    using attention_of =
        ts::self_attention<S::heads, ts::branch<Query, rotary<S::heads>>, ts::branch<Key, rotary<S::key_heads>>, value,
                           merge, ts::attention<ts::heads<S::heads>, ts::key_heads<S::key_heads>, ts::causal, Sees...>>;
    template <class... Sees>
    using attention = attention_of<query, key, Sees...>;
    using swiglu = ts::swiglu<gate, up, down>;
    using geglu = ts::geglu<gate, up, down>;
};

/// LLaMA 3 (Dubey et al. 2024): LLaMA 2's blocks with grouped queries (Ainslie et al. 2023) and slower rotations. And
/// Mistral 7B (Jiang et al. 2023), whose queries see a window of keys.
template <class S, class Turn, class... Sees>
struct llama3_parts {
    using layers = decoder_layers<S, 0, ts::rms_norm<>, Turn>;
    template <class... Scaled>
    using with = decoder_layers<S, 0, ts::rms_norm<>, Turn, Scaled...>;
    template <class L>
    using network_of = ts::sequential<
        ts::tokens<S::context>, typename L::words,
        ts::repeat<S::layers, ts::residual<typename L::template norm<0>, typename L::template attention<Sees...>>,
                   ts::residual<typename L::template norm<1>, typename L::swiglu>>,
        typename L::last_norm, typename L::logits, ts::cross_entropy>;
    using network = network_of<layers>;
    /// With the frequencies of LLaMA 3.1.
    template <class Scale>
    using scaled = network_of<with<Scale>>;
};
using llama3_8b_sizes = decoder_sizes<32, 4096, 32, 8, 128, 14336, 8192, 128256>;
struct llama3_8b : llama3_parts<llama3_8b_sizes, ts::rotary_base<500000>>::network {};
/// LLaMA 3.1: the same for 128K positions.
using llama3_1_8b_sizes = decoder_sizes<32, 4096, 32, 8, 128, 14336, 131072, 128256>;
struct llama3_1_8b
    : llama3_parts<llama3_1_8b_sizes, ts::rotary_base<500000>>::template scaled<ts::rotary_scale<8, 8192>> {};
using llama3_1_70b_sizes = decoder_sizes<80, 8192, 64, 8, 128, 28672, 131072, 128256>;
struct llama3_1_70b
    : llama3_parts<llama3_1_70b_sizes, ts::rotary_base<500000>>::template scaled<ts::rotary_scale<8, 8192>> {};
using mistral_7b_sizes = decoder_sizes<32, 4096, 32, 8, 128, 14336, 8192, 32000>;
struct mistral_7b : llama3_parts<mistral_7b_sizes, ts::rotary_base<10000>, ts::sliding_window<4096>>::network {};

/// Qwen 3 (Yang et al. 2025, "Qwen3 Technical Report"): a norm of each head's queries and keys before they are turned,
/// and heads that are wider together than the network. Tied: the output layer is the embedding's table, as in the
/// models of up to 4B.
template <class S, bool Tied>
struct qwen3_parts {
    using norms = ts::rms_norm<ts::epsilon<1e-6>>;
    using layers = decoder_layers<S, 0, norms, ts::rotary_base<1000000>, ts::halves>;
    struct query_norm : ts::head_rms_norm<ts::heads<S::heads>, ts::epsilon<1e-6>> {};
    struct key_norm : ts::head_rms_norm<ts::heads<S::key_heads>, ts::epsilon<1e-6>> {};
    using attention = typename layers::template attention_of<ts::branch<typename layers::query, query_norm>,
                                                             ts::branch<typename layers::key, key_norm>>;
    using logits = std::conditional_t<Tied, ts::tied<typename layers::logits, typename layers::words>,
                                      ts::branch<typename layers::logits>>;
    using network = ts::sequential<ts::tokens<S::context>, typename layers::words,
                                   ts::repeat<S::layers, ts::residual<typename layers::template norm<0>, attention>,
                                              ts::residual<typename layers::template norm<1>, typename layers::swiglu>>,
                                   typename layers::last_norm, logits, ts::cross_entropy>;
};
/// With the 4096 positions of the first stages of training; their last one has 32768.
struct qwen3_0_6b : qwen3_parts<decoder_sizes<28, 1024, 16, 8, 128, 3072, 4096, 151936>, true>::network {};
struct qwen3_8b : qwen3_parts<decoder_sizes<36, 4096, 32, 8, 128, 12288, 4096, 151936>, false>::network {};

/// Gemma (Mesnard et al. 2024): embeddings times Scale, the root of the width, gelu in place of silu, and the
/// embedding's table as output layer. Published norms multiply by 1 + w with w = 0 at first; here by w = 1 at first,
/// which differs under weight decay alone. gelu is exact, where the published one is approximated by a tanh.
template <class S, ts::number Scale>
struct gemma_parts {
    using layers = decoder_layers<S, 0, ts::rms_norm<ts::epsilon<1e-6>>, ts::halves>;
    using network = ts::sequential<
        ts::tokens<S::context>, typename layers::words, ts::scale<Scale>,
        ts::repeat<S::layers, ts::residual<typename layers::template norm<0>, typename layers::template attention<>>,
                   ts::residual<typename layers::template norm<1>, typename layers::geglu>>,
        typename layers::last_norm, ts::tied<typename layers::logits, typename layers::words>, ts::cross_entropy>;
};
struct gemma_2b : gemma_parts<decoder_sizes<18, 2048, 8, 1, 256, 16384, 8192, 256000>, 45.254833995939045>::network {};

/// Gemma 2 (Riviere et al. 2024): norms before and behind every part, layers that see a window of keys and all of them
/// in turn, scores within +-50 and logits within +-30. S::layers are pairs.
template <class S, ts::number Scale, ts::index_t Window>
struct gemma2_parts {
    using norms = ts::rms_norm<ts::epsilon<1e-6>>;
    template <int Block>
    using layers = decoder_layers<S, Block, norms, ts::halves>;
    template <int Block, class... Sees>
    using block = ts::branch<ts::residual<typename layers<Block>::template norm<0>,
                                          typename layers<Block>::template attention<ts::softcap<50>, Sees...>,
                                          typename layers<Block>::template norm<1>>,
                             ts::residual<typename layers<Block>::template norm<2>, typename layers<Block>::geglu,
                                          typename layers<Block>::template norm<3>>>;
    using network =
        ts::sequential<ts::tokens<S::context>, typename layers<0>::words, ts::scale<Scale>,
                       ts::repeat<S::layers, block<0, ts::sliding_window<Window>>, block<1>>,
                       typename layers<0>::last_norm, ts::tied<typename layers<0>::logits, typename layers<0>::words>,
                       ts::scale<1.0 / 30>, ts::tanh, ts::scale<30>, ts::cross_entropy>;
};
struct gemma2_2b : gemma2_parts<decoder_sizes<13, 2304, 8, 4, 256, 9216, 8192, 256000>, 48, 4096>::network {};

} // namespace networks
