// SPDX-License-Identifier: Apache-2.0
// The recurrent networks that FlexFlow was measured on (Jia, Zaharia and Aiken 2019, table 3), unrolled for 40 steps.
// What the paper leaves open is said here: vocabularies, the width of embeddings (that of the hidden layers), states
// that start from zeros.
#pragma once

#include "tessera/net/dag.hpp"
#include "tessera/net/network.hpp"
#include "tessera/part/lstm.hpp"

namespace networks {

namespace ts = tessera;

/// A cell of Hidden units; Part and Layer tell cells apart.
template <int Part, int Layer, ts::index_t Hidden>
struct recurrent_layers {
    struct in : ts::linear<4 * Hidden> {};
    struct again : ts::linear<4 * Hidden, ts::no_bias> {};
    using cell = ts::lstm_cell<Hidden, in, again>;
    template <class Before>
    using cell_after = ts::lstm_cell<Hidden, in, again, Before>;
};
template <int Part, int Layer, ts::index_t Hidden>
using recurrent_cell = typename recurrent_layers<Part, Layer, Hidden>::cell;

/// RNNTC: four LSTM layers and a classification of the text by the last step, for a vocabulary of 32,000.
template <int Steps = 40, ts::index_t Hidden = 1024>
struct rnntc_parts {
    struct words : ts::embedding<32000, Hidden> {};
    struct logits : ts::linear<2> {};
    using cells = ts::lstm<Steps, recurrent_cell<0, 0, Hidden>, recurrent_cell<0, 1, Hidden>,
                           recurrent_cell<0, 2, Hidden>, recurrent_cell<0, 3, Hidden>>;
    using network = ts::sequential<ts::tokens<Steps>, words, cells, ts::slice<Steps - 1, 1, ts::axis<1>>, ts::flatten,
                                   logits, ts::cross_entropy>;
};
struct rnntc : rnntc_parts<>::network {};

/// RNNLM: two LSTM layers and a prediction of the next word at every step, for the 10,000 words of the Penn Treebank.
template <int Steps = 40, ts::index_t Hidden = 2048, ts::index_t Vocabulary = 10000>
struct rnnlm_parts {
    struct words : ts::embedding<Vocabulary, Hidden> {};
    struct logits : ts::linear<Vocabulary> {};
    using cells = ts::lstm<Steps, recurrent_cell<1, 0, Hidden>, recurrent_cell<1, 1, Hidden>>;
    using network = ts::sequential<ts::tokens<Steps>, words, cells, logits, ts::cross_entropy>;
};
struct rnnlm : rnnlm_parts<>::network {};
/// Two steps: small enough to search exhaustively.
struct rnnlm_2_steps : rnnlm_parts<2>::network {};

/// NMT: encoder and decoder of two LSTM layers each, attention of every decoder step to all encoder steps (Luong et al.
/// 2015, general scores, no input feeding), for a vocabulary of 32,000. Inputs: source, target, truth.
template <int Steps = 40, ts::index_t Hidden = 1024, ts::index_t Vocabulary = 32000>
struct nmt_parts {
    struct source;
    struct target;
    struct truth;
    struct memory;
    struct scores;
    struct loss;
    struct state;
    struct source_words : ts::embedding<Vocabulary, Hidden> {};
    struct target_words : ts::embedding<Vocabulary, Hidden> {};
    struct general : ts::linear<Hidden, ts::no_bias> {};
    struct alignment : ts::matmul<ts::transpose_second> {};
    struct context : ts::matmul<> {};
    struct combine : ts::linear<Hidden, ts::no_bias> {};
    struct logits : ts::linear<Vocabulary> {};
    struct queries;
    struct aligned;
    struct weights;
    struct mixed;
    using first = recurrent_cell<2, 0, Hidden>;
    using second = recurrent_cell<2, 1, Hidden>;
    using third = typename recurrent_layers<3, 0, Hidden>::template cell_after<first>;
    using fourth = typename recurrent_layers<3, 1, Hidden>::template cell_after<second>;
    using network = ts::dag<ts::input<source, ts::tokens<Steps>>, ts::input<target, ts::tokens<Steps>>,
                            ts::input<truth, ts::tokens<Steps>>,
                            ts::chain<memory, source, source_words, ts::lstm<Steps, first, second>>,
                            ts::chain<state, target, target_words, ts::lstm<Steps, third, fourth>>,
                            ts::node<queries, general, state>, ts::node<aligned, alignment, queries, memory>,
                            ts::node<weights, ts::softmax<>, aligned>, ts::node<mixed, context, weights, memory>,
                            ts::chain<scores, mixed, ts::tap<ts::concat, state>, combine, ts::tanh, logits>,
                            ts::node<loss, ts::cross_entropy, scores, truth>>;
};
struct nmt : nmt_parts<>::network {};
struct nmt_2048 : nmt_parts<40, 2048>::network {};

} // namespace networks
