// SPDX-License-Identifier: Apache-2.0
// Transformers: the GPT family, BERT-large, and the encoder and decoder of 2017.
#pragma once

#include "tessera/net/dag.hpp"
#include "tessera/net/network.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/part/residual.hpp"

namespace networks {

namespace ts = tessera;

/// Layers of a Transformer of Width channels; Part tells encoder and decoder apart.
template <int Part, ts::index_t Width>
struct transformer_layers {
    template <int Place>
    struct norm : ts::layer_norm<> {};
    template <int Place>
    struct query : ts::linear<Width> {};
    template <int Place>
    struct key : ts::linear<Width> {};
    template <int Place>
    struct value : ts::linear<Width> {};
    template <int Place>
    struct merge : ts::linear<Width> {};
    struct wide : ts::linear<4 * Width> {};
    struct narrow : ts::linear<Width> {};

    template <int Heads, class... Weights>
    using attention = ts::self_attention<Heads, query<0>, key<0>, value<0>, merge<0>, Weights...>;
    template <class Memory, int Heads, class... Weights>
    using attention_to = ts::cross_attention<Memory, Heads, query<1>, key<1>, value<1>, merge<1>, Weights...>;
};

/// GPT-2 (Radford et al. 2019) and GPT-3 (Brown et al. 2020; all attention dense): normalization before every part, the
/// output layer tied to the embedding. Its query, key and value are three layers instead of one of three times the
/// width.
template <int Layers, ts::index_t Width, int Heads, ts::index_t Context, ts::index_t Vocabulary = 50257>
struct gpt_parts {
    struct words : ts::embedding<Vocabulary, Width> {};
    struct places : ts::position_embedding<> {};
    struct last_norm : ts::layer_norm<> {};
    struct logits : ts::linear<Vocabulary, ts::no_bias> {};
    using layers = transformer_layers<0, Width>;
    using attention = typename layers::template attention<Heads, ts::softmax<ts::causal>, ts::dropout<10>>;
    using block = ts::branch<ts::residual<typename layers::template norm<0>, attention, ts::dropout<10>>,
                             ts::residual<typename layers::template norm<1>, typename layers::wide, ts::gelu,
                                          typename layers::narrow, ts::dropout<10>>>;
    using network = ts::sequential<ts::tokens<Context>, words, places, ts::dropout<10>, ts::repeat<Layers, block>,
                                   last_norm, ts::tied<logits, words>, ts::cross_entropy>;
    /// The same with the same parameters, and without logits in memory.
    using network_without_logits =
        ts::sequential<ts::tokens<Context>, words, places, ts::dropout<10>, ts::repeat<Layers, block>, last_norm,
                       ts::tied<ts::vocabulary_loss<Vocabulary>, words>>;
};
template <int Layers, ts::index_t Width, int Heads, ts::index_t Context>
struct gpt : gpt_parts<Layers, Width, Heads, Context>::network {};
using gpt2_124m = gpt<12, 768, 12, 1024>;
struct gpt2_124m_without_logits : gpt_parts<12, 768, 12, 1024>::network_without_logits {};
using gpt2_355m = gpt<24, 1024, 16, 1024>;
using gpt2_774m = gpt<36, 1280, 20, 1024>;
using gpt2_1558m = gpt<48, 1600, 25, 1024>;
using gpt3_125m = gpt<12, 768, 12, 2048>;
using gpt3_350m = gpt<24, 1024, 16, 2048>;
using gpt3_760m = gpt<24, 1536, 16, 2048>;
/// Of 24 heads in the paper's table, which do not divide the width: 16 of the same 128 channels.
using gpt3_1_3b = gpt<24, 2048, 16, 2048>;
using gpt3_2_7b = gpt<32, 2560, 32, 2048>;
using gpt3_6_7b = gpt<32, 4096, 32, 2048>;
/// Of the width 5140 in the paper's table, which 40 heads of 128 channels do not make: 5120.
using gpt3_13b = gpt<40, 5120, 40, 2048>;
using gpt3_175b = gpt<96, 12288, 96, 2048>;

namespace bert_layers {
struct text;
struct segments;
struct truth;
struct word_vectors;
struct segment_vectors;
struct sum;
struct scores;
struct loss;
struct words : ts::embedding<30522, 1024> {};
struct segment : ts::embedding<2, 1024> {};
struct places : ts::position_embedding<> {};
struct norm0 : ts::layer_norm<> {};
using layers = transformer_layers<0, 1024>;
/// Normalization after every part.
using block =
    ts::branch<ts::residual<layers::attention<16, ts::softmax<>, ts::dropout<10>>, ts::dropout<10>>, layers::norm<0>,
               ts::residual<layers::wide, ts::gelu, layers::narrow, ts::dropout<10>>, layers::norm<1>>;
struct transform : ts::linear<1024> {};
struct transform_norm : ts::layer_norm<> {};
struct logits : ts::linear<30522> {};
} // namespace bert_layers

/// BERT-large (24 layers), uncased (Devlin et al. 2019), 512 positions, with the head that it is pre-trained with: here
/// a label at every position.
/// Inputs: text, segments, truth.
template <int Layers, ts::index_t Length = 512>
struct bert
    : ts::dag<ts::input<bert_layers::text, ts::tokens<Length>>, ts::input<bert_layers::segments, ts::tokens<Length>>,
              ts::input<bert_layers::truth, ts::tokens<Length>>,
              ts::node<bert_layers::word_vectors, ts::shared<bert_layers::words>, bert_layers::text>,
              ts::node<bert_layers::segment_vectors, bert_layers::segment, bert_layers::segments>,
              ts::node<bert_layers::sum, ts::add, bert_layers::word_vectors, bert_layers::segment_vectors>,
              ts::chain<bert_layers::scores, bert_layers::sum, bert_layers::places, bert_layers::norm0, ts::dropout<10>,
                        ts::repeat<Layers, bert_layers::block>, bert_layers::transform, ts::gelu,
                        bert_layers::transform_norm, ts::tied<bert_layers::logits, bert_layers::words>>,
              ts::node<bert_layers::loss, ts::cross_entropy, bert_layers::scores, bert_layers::truth>> {};
struct bert_large : bert<24> {};

namespace translation_layers {
struct source;
struct target;
struct truth;
struct memory;
struct scores;
struct loss;
constexpr ts::index_t vocabulary = 37000;
struct words : ts::embedding<vocabulary, 512> {};
struct target_words : ts::embedding<vocabulary, 512> {};
struct source_places : ts::position_embedding<ts::frozen> {};
struct target_places : ts::position_embedding<ts::frozen> {};
struct logits : ts::linear<vocabulary, ts::no_bias> {};
using encoder = transformer_layers<0, 512>;
using decoder = transformer_layers<1, 512>;
using plain = ts::softmax<>;
using encoder_block =
    ts::branch<ts::residual<encoder::attention<8, plain>, ts::dropout<10>>, encoder::norm<0>,
               ts::residual<encoder::wide, ts::relu, encoder::narrow, ts::dropout<10>>, encoder::norm<1>>;
using decoder_block =
    ts::branch<ts::residual<decoder::attention<8, ts::softmax<ts::causal>>, ts::dropout<10>>, decoder::norm<0>,
               ts::residual<decoder::attention_to<memory, 8, plain>, ts::dropout<10>>, decoder::norm<1>,
               ts::residual<decoder::wide, ts::relu, decoder::narrow, ts::dropout<10>>, decoder::norm<2>>;
} // namespace translation_layers

/// The Transformer (base) of Vaswani et al. 2017: 6 + 6 layers, one table of 37,000 words for source, target and
/// output; sentences of Length. Positions are fixed vectors, here random ones instead of sines. Inputs: source, target,
/// truth.
template <ts::index_t Length, int Layers = 6>
struct transformer_base : ts::dag<ts::input<translation_layers::source, ts::tokens<Length>>,
                                  ts::input<translation_layers::target, ts::tokens<Length>>,
                                  ts::input<translation_layers::truth, ts::tokens<Length>>,
                                  ts::chain<translation_layers::memory, translation_layers::source,
                                            translation_layers::words, translation_layers::source_places,
                                            ts::dropout<10>, ts::repeat<Layers, translation_layers::encoder_block>>,
                                  ts::chain<translation_layers::scores, translation_layers::target,
                                            ts::tied<translation_layers::target_words, translation_layers::words>,
                                            translation_layers::target_places, ts::dropout<10>,
                                            ts::repeat<Layers, translation_layers::decoder_block>,
                                            ts::tied<translation_layers::logits, translation_layers::words>>,
                                  ts::node<translation_layers::loss, ts::cross_entropy, translation_layers::scores,
                                           translation_layers::truth>> {};

} // namespace networks
