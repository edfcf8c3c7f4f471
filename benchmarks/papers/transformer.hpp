// SPDX-License-Identifier: Apache-2.0
// GPipe's Transformer (Huang et al. 2019, table 1): 1024 positions, 2048 channels, 8192 hidden, 32 heads. A vocabulary
// of 32,000 and an output layer of its own make the parameters of the paper's table.
#pragma once

#include "examples/zoo/transformers.hpp"
#include "tessera/part/residual.hpp"

namespace networks {

template <int Layers>
struct gpipe_transformer_parts {
    struct words : ts::embedding<32000, 2048> {};
    struct places : ts::position_embedding<ts::frozen> {};
    struct last_norm : ts::layer_norm<> {};
    struct logits : ts::linear<32000, ts::no_bias> {};
    using layers = transformer_layers<0, 2048>;
    using attention = typename layers::template attention<32, ts::softmax<ts::causal>, ts::dropout<10>>;
    using block = ts::branch<ts::residual<typename layers::template norm<0>, attention, ts::dropout<10>>,
                             ts::residual<typename layers::template norm<1>, typename layers::wide, ts::relu,
                                          typename layers::narrow, ts::dropout<10>>>;
    using network = ts::sequential<ts::tokens<1024>, words, places, ts::dropout<10>, ts::repeat<Layers, block>,
                                   last_norm, logits, ts::cross_entropy>;
};
template <int Layers>
struct gpipe_transformer : gpipe_transformer_parts<Layers>::network {};

} // namespace networks
