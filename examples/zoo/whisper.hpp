// SPDX-License-Identifier: Apache-2.0
// Speech to text: Whisper.
#pragma once

#include "examples/zoo/transformers.hpp"
#include "tessera/part/one_dimension.hpp"

namespace networks {

/// x[N,T,C] plus sines (the first half of the channels) and cosines of the position, from slow to fast: wave lengths
/// are powers from 2 pi to 10000 times that.
struct sinusoids : ts::operation<sinusoids> {
    static constexpr const char* name = "sinusoids";
    static constexpr void body(auto& w) {
        const auto [n, t, c] = w.loops(sample, position, channel);
        const auto x = w.input(n, t, c);
        const auto half = w.size(c) * 0.5;
        const auto is_sine = w.index(c) < half;
        const auto number = select(is_sine, w.index(c), w.index(c) - half);
        const auto angle = w.index(t) * exp(number / (half - 1) * -9.210340371976184); // of log(10000)
        w.output(n, t, c) = x + select(is_sine, sin(angle), cos(angle));
    }
};

namespace speech {
struct sound;
struct text;
struct truth;
struct memory;
struct scores;
struct loss;

/// Part 0 is the encoder, 1 the decoder. Keys have no biases.
template <int Part, ts::index_t Width>
struct layers : transformer_layers<Part, Width> {
    using all = transformer_layers<Part, Width>;
    template <int Place>
    struct key : ts::linear<Width, ts::no_bias> {};
    template <int Heads, class Weights>
    using attention = ts::self_attention<Heads, typename all::template query<0>, key<0>,
                                         typename all::template value<0>, typename all::template merge<0>, Weights>;
    template <int Heads>
    using attention_to_sound =
        ts::cross_attention<memory, Heads, typename all::template query<1>, key<1>, typename all::template value<1>,
                            typename all::template merge<1>, ts::softmax<>>;
    template <int Place, class... Parts>
    using residual = ts::residual<typename all::template norm<Place>, Parts...>;
    template <int Place>
    using feed_forward = residual<Place, typename all::wide, ts::gelu, typename all::narrow>;
};
} // namespace speech

/// Whisper (Radford et al. 2023, "Robust Speech Recognition via Large-Scale Weak Supervision"): two convolutions make
/// half as many positions of Frames of logarithmic mel bands; positions of the encoder are sines, those of the decoder
/// a table; norms come before the parts. Inputs: sound [N,Frames,Mels], text, truth.
template <int Layers, ts::index_t Width, int Heads, ts::index_t Vocabulary, ts::index_t Frames = 3000,
          ts::index_t Mels = 80, ts::index_t Text = 448>
struct whisper_parts {
    struct first : ts::conv1d<Width, ts::window<3>, ts::padding<1>> {};
    struct second : ts::conv1d<Width, ts::window<3>, ts::stride<2>, ts::padding<1>> {};
    struct sound_norm : ts::layer_norm<> {};
    struct words : ts::embedding<Vocabulary, Width> {};
    struct places : ts::position_embedding<> {};
    struct text_norm : ts::layer_norm<> {};
    struct logits : ts::linear<Vocabulary, ts::no_bias> {};
    using encoder = speech::layers<0, Width>;
    using decoder = speech::layers<1, Width>;
    using encoder_block =
        ts::branch<typename encoder::template residual<0, typename encoder::template attention<Heads, ts::softmax<>>>,
                   typename encoder::template feed_forward<1>>;
    using decoder_block = ts::branch<
        typename decoder::template residual<0, typename decoder::template attention<Heads, ts::softmax<ts::causal>>>,
        typename decoder::template residual<1, typename decoder::template attention_to_sound<Heads>>,
        typename decoder::template feed_forward<2>>;
    using network = ts::dag<ts::input<speech::sound, ts::sequence<Frames, Mels>>,
                            ts::input<speech::text, ts::tokens<Text>>, ts::input<speech::truth, ts::tokens<Text>>,
                            ts::chain<speech::memory, speech::sound, first, ts::gelu, second, ts::gelu, sinusoids,
                                      ts::repeat<Layers, encoder_block>, sound_norm>,
                            ts::chain<speech::scores, speech::text, words, places, ts::repeat<Layers, decoder_block>,
                                      text_norm, ts::tied<logits, words>>,
                            ts::node<speech::loss, ts::cross_entropy, speech::scores, speech::truth>>;
};
struct whisper_tiny : whisper_parts<4, 384, 6, 51865>::network {};
struct whisper_base : whisper_parts<6, 512, 8, 51865>::network {};

} // namespace networks
