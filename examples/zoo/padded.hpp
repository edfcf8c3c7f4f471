// SPDX-License-Identifier: Apache-2.0
// Recurrent networks for sequences of several lengths in one batch, padded at their ends.
#pragma once

#include "tessera/net/dag.hpp"
#include "tessera/net/network.hpp"
#include "tessera/op/reduce.hpp"
#include "tessera/part/gru.hpp"
#include "tessera/part/lstm.hpp"
#include "tessera/part/padded.hpp"

namespace networks {

namespace ts = tessera;

/// Classes of texts by two LSTM layers in both directions: the sum of their states within a text's length. Inputs:
/// tokens, lengths, labels.
template <int Steps, ts::index_t Vocabulary, ts::index_t Width, ts::index_t Hidden, ts::index_t Classes>
struct padded_lstm_parts {
    struct words : ts::embedding<Vocabulary, Width> {};
    template <int Layer, bool Backward>
    struct in : ts::linear<4 * Hidden> {};
    template <int Layer, bool Backward>
    struct again : ts::linear<4 * Hidden> {};
    template <int Layer, bool Backward>
    using cell = ts::lstm_cell<Hidden, in<Layer, Backward>, again<Layer, Backward>>;
    template <int Layer>
    using layer = ts::both_ways<cell<Layer, false>, cell<Layer, true>>;
    struct logits : ts::linear<Classes> {};
    using network = ts::sequential<ts::tokens<Steps>, words, ts::with_lengths<ts::lstm<Steps, layer<0>, layer<1>>>,
                                   ts::sum_over<1>, logits, ts::cross_entropy>;
};
struct padded_lstm : padded_lstm_parts<64, 20000, 256, 256, 2>::network {};

/// Translation by GRUs (Cho et al. 2014): the encoder's state at the end of each source's length starts the decoder.
/// Inputs: source, lengths, target, truth.
template <int Steps, int TargetSteps, ts::index_t Vocabulary, ts::index_t Width, ts::index_t Hidden>
struct padded_gru_parts {
    struct source;
    struct target;
    struct truth;
    struct encoded;
    struct scores;
    struct loss;
    struct source_words : ts::embedding<Vocabulary, Width> {};
    struct target_words : ts::embedding<Vocabulary, Width> {};
    struct encode : ts::linear<3 * Hidden> {};
    struct encode_again : ts::linear<3 * Hidden> {};
    struct decode : ts::linear<3 * Hidden> {};
    struct decode_again : ts::linear<3 * Hidden> {};
    struct logits : ts::linear<Vocabulary> {};
    using encoder = ts::gru_cell<Hidden, encode, encode_again>;
    using decoder = ts::gru_cell<Hidden, decode, decode_again, encoder>;
    using network = ts::dag<ts::input<source, ts::tokens<Steps>>, ts::input<ts::lengths, ts::lengths>,
                            ts::input<target, ts::tokens<TargetSteps>>, ts::input<truth, ts::tokens<TargetSteps>>,
                            ts::chain<encoded, source, source_words, ts::with_lengths<ts::gru<Steps, encoder>>>,
                            ts::chain<scores, target, target_words, ts::gru<TargetSteps, decoder>, logits>,
                            ts::node<loss, ts::cross_entropy, scores, truth>>;
};
struct padded_gru : padded_gru_parts<30, 30, 15000, 620, 1000>::network {};

} // namespace networks
