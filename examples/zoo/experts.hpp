// SPDX-License-Identifier: Apache-2.0
// A language model with mixtures of experts in every other layer, as in GShard (Lepikhin et al. 2021) and the Switch
// Transformer.
#pragma once

#include "examples/zoo/transformers.hpp"
#include "tessera/part/experts.hpp"
#include "tessera/part/residual.hpp"

namespace networks {

/// Pairs of blocks of GPT, the second one with Experts of Hidden units instead of its two wide layers. An expert has
/// Slots for the tokens of a sample; a token goes to Top experts. Nothing here balances the experts' loads.
template <int Pairs, ts::index_t Width, int Heads, ts::index_t Context, ts::index_t Experts, ts::index_t Hidden,
          ts::index_t Slots, int Top, ts::index_t Vocabulary = 32000>
struct moe_parts {
    struct words : ts::embedding<Vocabulary, Width> {};
    struct places : ts::position_embedding<> {};
    struct last_norm : ts::layer_norm<> {};
    struct logits : ts::linear<Vocabulary, ts::no_bias> {};
    struct gate : ts::linear<Experts, ts::no_bias> {};
    struct into : ts::expert_linear<Experts, Hidden> {};
    struct out_of : ts::expert_linear<Experts, Width> {};
    template <int Block>
    using layers = transformer_layers<Block, Width>;
    template <int Block>
    using attention = ts::residual<typename layers<Block>::template norm<0>,
                                   typename layers<Block>::template attention<Heads, ts::softmax<ts::causal>>>;
    using mixture = ts::mixture_of_experts<Slots, Top, gate, into, ts::relu, out_of>;
    using pair = ts::branch<attention<0>,
                            ts::residual<typename layers<0>::template norm<1>, typename layers<0>::wide, ts::relu,
                                         typename layers<0>::narrow>,
                            attention<1>, ts::residual<typename layers<1>::template norm<1>, mixture>>;
    using network = ts::sequential<ts::tokens<Context>, words, places, ts::repeat<Pairs, pair>, last_norm,
                                   ts::tied<logits, words>, ts::cross_entropy>;
};
/// The widths of GShard's MoE(2048E, 36L): 18 of 36 layers with 2048 experts.
struct moe_2048 : moe_parts<18, 1024, 16, 1024, 2048, 8192, 1, 2>::network {};
/// The same with eight experts, for machines of eight devices.
struct moe_8 : moe_parts<6, 768, 12, 512, 8, 3072, 128, 2>::network {};

} // namespace networks
