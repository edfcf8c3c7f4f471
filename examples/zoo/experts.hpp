// SPDX-License-Identifier: Apache-2.0
// Language models with mixtures of experts: in every other layer, as in GShard (Lepikhin et al. 2021) and the Switch
// Transformer, with dense masks and sent; and in every layer, as Mixtral (Jiang et al. 2024).
#pragma once

#include "examples/zoo/decoders.hpp"
#include "examples/zoo/transformers.hpp"
#include "tessera/part/experts.hpp"
#include "tessera/part/residual.hpp"
#include "tessera/part/routing.hpp"

namespace networks {

/// Pairs of blocks of GPT, the second one with a mixture of Experts instead of its two wide layers.
template <int Pairs, ts::index_t Width, int Heads, ts::index_t Context, ts::index_t Experts, ts::index_t Vocabulary>
struct mixture_pairs {
    struct words : ts::embedding<Vocabulary, Width> {};
    struct places : ts::position_embedding<> {};
    struct last_norm : ts::layer_norm<> {};
    struct logits : ts::linear<Vocabulary, ts::no_bias> {};
    struct gate : ts::linear<Experts, ts::no_bias> {};
    template <int Block>
    using layers = transformer_layers<Block, Width>;
    template <int Block>
    using attention = ts::residual<typename layers<Block>::template norm<0>,
                                   typename layers<Block>::template attention<Heads, ts::softmax<ts::causal>>>;
    template <class Mixture>
    using pair = ts::branch<attention<0>,
                            ts::residual<typename layers<0>::template norm<1>, typename layers<0>::wide, ts::relu,
                                         typename layers<0>::narrow>,
                            attention<1>, ts::residual<typename layers<1>::template norm<1>, Mixture>>;
    template <class Mixture>
    using network_with = ts::sequential<ts::tokens<Context>, words, places, ts::repeat<Pairs, pair<Mixture>>, last_norm,
                                        ts::tied<logits, words>, ts::cross_entropy>;
};
/// Experts of Hidden units, each of which has Slots for the tokens of a sample; a token goes to Top experts. Nothing
/// here balances the experts' loads.
template <int Pairs, ts::index_t Width, int Heads, ts::index_t Context, ts::index_t Experts, ts::index_t Hidden,
          ts::index_t Slots, int Top, ts::index_t Vocabulary = 32000>
struct moe_parts {
    using pairs = mixture_pairs<Pairs, Width, Heads, Context, Experts, Vocabulary>;
    struct into : ts::expert_linear<Experts, Hidden> {};
    struct out_of : ts::expert_linear<Experts, Width> {};
    using mixture = ts::mixture_of_experts<Slots, Top, typename pairs::gate, into, ts::relu, out_of>;
    using network = typename pairs::template network_with<mixture>;
};
/// The widths of GShard's MoE(2048E, 36L): 18 of 36 layers with 2048 experts.
struct moe_2048 : moe_parts<18, 1024, 16, 1024, 2048, 8192, 1, 2>::network {};
/// The same with eight experts, for machines of eight devices.
struct moe_8 : moe_parts<6, 768, 12, 512, 8, 3072, 128, 2>::network {};

/// What moe_parts has with masks, sent: the same parameters and the same numbers, but for the losses that balance the
/// experts' loads (Fedus et al. 2022) and keep the logits of the gate small (Zoph et al. 2022).
template <int Pairs, ts::index_t Width, int Heads, ts::index_t Context, ts::index_t Experts, ts::index_t Hidden,
          class Slots, int Top, ts::index_t Vocabulary = 32000>
struct routed_moe_parts {
    using pairs = mixture_pairs<Pairs, Width, Heads, Context, Experts, Vocabulary>;
    struct into : ts::routed_linear<Hidden> {};
    struct out_of : ts::routed_linear<Width> {};
    using router = ts::branch<typename pairs::gate, ts::aside<ts::router_z_loss<ts::weight<1, 1000>>>, ts::softmax<>,
                              ts::aside<ts::load_balance<Top, ts::weight<1, 100>>>>;
    using mixture = ts::routed_experts<Slots, router, ts::with_slots<into>, ts::relu, ts::with_slots<out_of>>;
    using network = typename pairs::template network_with<mixture>;
};
/// moe_8, sent: an expert has 128 slots, as many as with an even load.
struct slots_of_128 : ts::token_slots<ts::top<2>, ts::capacity<128>> {};
struct routed_moe_8 : routed_moe_parts<6, 768, 12, 512, 8, 3072, slots_of_128, 2>::network {};

/// Mistral's blocks with a mixture in place of SwiGLU: Experts of the same form, of which a token goes to the two best,
/// whose gates add up to 1 (Jiang et al. 2024, "Mixtral of Experts", section 2.1).
template <class S, ts::index_t Experts, class Slots>
struct mixtral_parts {
    using layers = decoder_layers<S, 0, ts::rms_norm<>, ts::rotary_base<1000000>>;
    struct router : ts::linear<Experts, ts::no_bias> {};
    struct gate : ts::routed_linear<S::hidden> {};
    struct up : ts::routed_linear<S::hidden> {};
    struct down : ts::routed_linear<S::width> {};
    using gates = ts::branch<router, ts::softmax<>, ts::aside<ts::load_balance<2, ts::weight<1, 50>>>,
                             ts::keep_top<ts::top<2>, ts::normalized>>;
    using mixture =
        ts::routed_experts<Slots, gates, ts::swiglu<ts::with_slots<gate>, ts::with_slots<up>, ts::with_slots<down>>>;
    using network = ts::sequential<
        ts::tokens<S::context>, typename layers::words,
        ts::repeat<S::layers, ts::residual<typename layers::template norm<0>, typename layers::template attention<>>,
                   ts::residual<typename layers::template norm<1>, mixture>>,
        typename layers::last_norm, typename layers::logits, ts::cross_entropy>;
};
/// Mixtral 8x7B with 4096 positions, where it has 32768. An expert takes at most twice its even share of a sample's
/// tokens, where it takes all.
struct twice_the_share : ts::token_slots<ts::top<2>, ts::capacity_factor<2>> {};
struct mixtral_8x7b
    : mixtral_parts<decoder_sizes<32, 4096, 32, 8, 128, 14336, 4096, 32000>, 8, twice_the_share>::network {};

} // namespace networks
