// SPDX-License-Identifier: Apache-2.0
// Rows of docs/layers.md: linear layers, tables, sequences, experts, and parts that are made of layers.
#pragma once

#include "docs/layer_rows.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/part/experts.hpp"
#include "tessera/part/gated.hpp"
#include "tessera/part/gru.hpp"
#include "tessera/part/latent_attention.hpp"
#include "tessera/part/lstm.hpp"
#include "tessera/part/one_dimension.hpp"
#include "tessera/part/padded.hpp"
#include "tessera/part/residual.hpp"
#include "tessera/part/routing.hpp"

namespace docs_support {

namespace ts = tessera;

// Layers that the examples of parts are made of.
// clang-format off
struct conv : ts::conv2d<64, ts::window<3>, ts::padding<1>, ts::no_bias> {};
struct norm : ts::batch_norm<> {};
struct query : ts::linear<256> {};
struct key : ts::linear<256> {};
struct value : ts::linear<256> {};
struct merge : ts::linear<256> {};
struct latent : ts::linear<64> {};
struct turned_query : ts::linear<64> {};
struct turned_key : ts::linear<16> {};
struct memory; // a tensor that was saved under this name
struct gate : ts::linear<4> {};
struct wide_gate : ts::linear<512> {};
struct wide_up : ts::linear<512> {};
struct wide : ts::expert_linear<4, 512> {};
struct narrow : ts::expert_linear<4, 256> {};
struct slots : ts::token_slots<ts::top<2>, ts::capacity_factor<1.25>> {};
struct bias : ts::choice_bias<> {};
struct sent_wide : ts::routed_linear<512> {};
struct sent_narrow : ts::routed_linear<256> {};
struct from_input : ts::linear<512> {};   // an LSTM's has 4 x Hidden outputs
struct from_hidden : ts::linear<512> {};
struct back_input : ts::linear<512> {};
struct back_hidden : ts::linear<512> {};
struct gru_input : ts::linear<384> {};    // a GRU's 3 x Hidden
struct gru_hidden : ts::linear<384> {};
struct words : ts::embedding<10000, 256> {};
struct logits : ts::linear<10000, ts::no_bias> {};
// clang-format on
using state = ts::lstm_cell<128, from_input, from_hidden>;
using back = ts::lstm_cell<128, back_input, back_hidden>;

inline std::vector<layer_row> linear_layers() {
    using ts::make_shape;
    return {
        LAYER("linear<Out, no_bias>", "fully connected", "[N,I] -> [N,Out]; [N,T,I] -> [N,T,Out]",
              ({make_shape(8, 128, 256)}), ts::linear<512>),
        LAYER("embedding<Vocabulary, Out>", "rows of a table by integers", "[N] -> [N,Out]; [N,T] -> [N,T,Out]",
              ({make_shape(8, 128)}), ts::embedding<10000, 256>),
        LAYER("position_embedding<rows<>>", "adds a row of a table to each position; as many rows as positions",
              "[N,T,C] -> the same", ({make_shape(8, 128, 256)}), ts::position_embedding<>),
        LAYER(
            "rotary<heads<>, rotary_base<>, halves, rotary_scale<>>",
            "rotary positions of queries or keys; `halves`: pairs are a head's first and second half, not neighbours; "
            "`rotary_scale`: LLaMA 3.1's frequencies",
            "[N,T,C] -> the same", ({make_shape(8, 128, 256)}),
            ts::rotary<ts::heads<4>, ts::rotary_base<500000>, ts::halves, ts::rotary_scale<8, 8192>>),
        LAYER("softmax<causal>", "over the last dimension; `causal`: a row sees the columns up to its own number",
              "[N,K], [N,T,K] or [N,H,T,K] -> the same", ({make_shape(8, 4, 128, 128)}), ts::softmax<ts::causal>),
        LAYER("padded_softmax<causal>", "the same of padded sequences: in a network `with_lengths<padded_softmax<>>`",
              "[N,T,K] or [N,H,T,K], lengths [N] -> the first", ({make_shape(8, 4, 128, 128), make_shape(8)}),
              ts::padded_softmax<>),
        LAYER("attention<heads<>, key_heads<>, causal, sliding_window<>, score_scale<>, softcap<>, alibi, "
              "position_buckets<>, percent<>>",
              "scaled dot-product attention of queries, keys and values; keeps no matrix of weights",
              "[N,T,H*W], [N,S,G*W], [N,S,G*V] -> [N,T,H*V]",
              ({make_shape(8, 128, 256), make_shape(8, 128, 128), make_shape(8, 128, 128)}),
              ts::attention<ts::heads<4>, ts::key_heads<2>, ts::causal>),
        LAYER(
            "padded_attention<the same>",
            "the same of padded sequences: in a network `with_lengths<padded_attention<>>`, or `with_mask<>` of it, in "
            "a `self_attention`",
            "as attention, lengths [N] or mask [N,S] -> [N,T,H*V]",
            ({make_shape(8, 128, 256), make_shape(8, 128, 256), make_shape(8, 128, 256), make_shape(8)}),
            ts::padded_attention<ts::heads<4>>),
        LAYER("length_mask<T>", "1 within a sample's length, 0 behind it", "lengths [N] -> [N,T,1]", ({make_shape(8)}),
              ts::length_mask<128>),
        LAYER("dispatch_mask<Slots, top<>>", "1 where a token has a slot of one of its best experts",
              "gates [N,T,E] -> [N,T,E Slots]", ({make_shape(8, 128, 4)}), ts::dispatch_mask<40, ts::top<2>>),
        LAYER("combine_weights<Slots, top<>>", "the same with its gate in place of 1", "gates [N,T,E] -> [N,T,E Slots]",
              ({make_shape(8, 128, 4)}), ts::combine_weights<40, ts::top<2>>),
        LAYER("expert_linear<Experts, Out>", "a matrix for each expert's slots", "[N,E Slots,I] -> [N,E Slots,Out]",
              ({make_shape(8, 160, 256)}), ts::expert_linear<4, 512>),
        LAYER(
            "token_slots<top<>, capacity<>>",
            "the tokens in the slots of each expert, from 1, and 0 in empty ones: integers; also `capacity_factor<>`, "
            "`no_drop`",
            "gates [N,T,E] -> [N,E,Slots]", ({make_shape(8, 128, 4)}), ts::token_slots<ts::top<2>, ts::capacity<40>>),
        LAYER("keep_top<top<>, normalized>",
              "the largest numbers of each row, zeros in place of the others; `normalized`: divided by their sum",
              "[N,T,E] -> the same", ({make_shape(8, 128, 4)}), ts::keep_top<ts::top<2>, ts::normalized>),
        LAYER("choice_bias<>", "adds a number for each expert, by which experts are chosen, see `bias_balanced`",
              "[N,T,E] -> the same", ({make_shape(8, 128, 4)}), ts::choice_bias<>),
        LAYER("chosen_gates", "the gates of experts that were chosen with a bias, in `bias_balanced`",
              "scores [N,T,E], [N,T,E] -> the first", ({make_shape(8, 128, 4), make_shape(8, 128, 4)}),
              ts::chosen_gates),
        LAYER("dispatch_tokens", "tokens in the order of their experts", "[N,T,C], slots [N,E,Slots] -> [N,E Slots,C]",
              ({make_shape(8, 128, 256), make_shape(8, 4, 40)}), ts::dispatch_tokens),
        LAYER("routed_linear<Out>", "a matrix for each expert, of the slots that are filled",
              "[N,E Slots,I], slots [N,E,Slots] -> [N,E Slots,Out]", ({make_shape(8, 160, 256), make_shape(8, 4, 40)}),
              ts::routed_linear<512>),
        LAYER("combine_tokens", "for each token the sum of what its experts made, times its gates",
              "gates [N,T,E], slots [N,E,Slots], [N,E Slots,C] -> [N,T,C]",
              ({make_shape(8, 128, 4), make_shape(8, 4, 40), make_shape(8, 160, 256)}), ts::combine_tokens),
    };
}

inline std::vector<layer_row> parts() {
    using pictures = ts::image<64, 14, 14>;
    using texts = ts::sequence<128, 256>;
    return {
        PART("branch<Parts...>", "parts in sequence; without parts the tensor itself", "as its parts", (pictures),
             ts::branch<conv, norm, ts::relu>),
        PART("residual<Parts...>", "x + f(x), f being the parts in sequence", "any -> the same", (pictures),
             ts::residual<conv, norm, ts::relu>),
        PART("branches<Join, Branches...>", "several ways from one tensor; Join is a layer that takes all their ends",
             "as Join", (pictures), ts::branches<ts::concat, ts::branch<>, ts::branch<conv, ts::relu>>),
        PART("repeat<Count, Parts...>", "Count copies in sequence, each with parameters of its own", "as its parts",
             (pictures), ts::repeat<2, ts::residual<conv, norm>, ts::relu>),
        PART("shared<L>", "a layer whose uses have one set of parameters", "as L", (texts), ts::shared<merge>),
        PART("tied<L, Source>", "L with the parameters of the earlier layer Source: logits by the embedding's table",
             "as L", (ts::tokens<128>, words), ts::tied<logits, words>),
        PART("save<Name>", "gives the tensor a name, for a later `tap` or `cross_attention`", "any -> the same",
             (pictures), ts::save<memory>),
        PART("tap<Join, Name>", "joins the tensor saved as Name with the current one, the saved one first", "as Join",
             (pictures, ts::save<memory>, conv), ts::tap<ts::concat, memory>),
        PART("self_attention<Heads, Query, Key, Value, Output, Weights...>",
             "multi-head attention, one operator where Weights are a softmax, perhaps with dropout behind it, or an "
             "`attention<>`; other Weights turn scores [N,Heads,T,T] into weights",
             "[N,T,C] -> as Output", (texts), ts::self_attention<4, query, key, value, merge, ts::softmax<ts::causal>>),
        PART("cross_attention<Memory, Heads, Query, Key, Value, Output, Weights...>",
             "the same with keys and values of the tensor saved as Memory", "[N,T,C] -> as Output",
             (texts, ts::save<memory>), ts::cross_attention<memory, 4, query, key, value, merge, ts::softmax<>>),
        PART(
            "latent_attention<Heads, Queries, Query, TurnedQuery, Latent, Key, TurnedKey, Value, Output, Weights...>",
            "attention whose keys and values are made of one narrow vector, as in DeepSeek-V2 and V3; queries and keys "
            "have a part that is turned, of keys the same for all heads",
            "[N,T,C] -> as Output", (texts),
            ts::latent_attention<4, ts::branch<>, query, ts::branch<turned_query, ts::rotary<ts::heads<4>>>, latent,
                                 key, ts::branch<turned_key, ts::rotary<>>, value, merge, ts::softmax<ts::causal>>),
        PART("mixture_of_experts<Slots, Top, Gate, Experts...>",
             "each token goes to its Top best experts, each with Slots for the tokens of a sample",
             "[N,T,C] -> [N,T,as Experts]", (texts), ts::mixture_of_experts<40, 2, gate, wide, ts::gelu, narrow>),
        PART("routed_experts<Slots, Router, Experts...>",
             "the same without masks: Router makes gates, Slots is a `token_slots`, `with_slots` goes around the "
             "`routed_linear` layers among Experts",
             "[N,T,C] -> [N,T,as Experts]", (texts),
             ts::routed_experts<slots, ts::branch<gate, ts::softmax<>>, ts::with_slots<sent_wide>, ts::gelu,
                                ts::with_slots<sent_narrow>>),
        PART("aside<Losses...>",
             "losses of a tensor that goes on as it is, such as `router_z_loss` and `load_balance<Top>`",
             "any -> the same", (texts, gate), ts::aside<ts::router_z_loss<ts::weight<1, 1000>>>),
        PART("with_slots<L>", "a `routed_linear` among the experts of a `routed_experts`", "as L", (texts),
             ts::routed_experts<slots, ts::branch<gate, ts::softmax<>>, ts::with_slots<sent_narrow>>),
        PART("load_balance<Top, weight<>>",
             "the loss that evens out the loads of experts, of a router's probabilities; it belongs into `aside`",
             "[N,T,E] -> as `load_balance_loss`", (texts, gate, ts::softmax<>), ts::aside<ts::load_balance<2>>),
        PART("bias_balanced<Top, Bias, weight<>>",
             "the gates of the Top experts with the largest sums of score and Bias, a `choice_bias`, which falls where "
             "an expert gets more than its share; it ends a router",
             "[N,T,E] -> the same", (texts, gate, ts::sigmoid), ts::bias_balanced<2, bias>),
        PART("swiglu<Gate, Up, Down>", "down(silu(gate(x)) up(x)): a gated feed-forward network", "as Down", (texts),
             ts::swiglu<wide_gate, wide_up, merge>),
        PART("geglu<Gate, Up, Down>", "the same with gelu", "as Down", (texts), ts::geglu<wide_gate, wide_up, merge>),
        PART("reglu<Gate, Up, Down>", "the same with relu", "as Down", (texts), ts::reglu<wide_gate, wide_up, merge>),
        PART("lstm<Steps, Cells...>",
             "cells `lstm_cell<Hidden, FromInput, FromHidden, Before>`, one on top of the other; Before is the cell in "
             "whose state it starts",
             "[N,T,C] -> [N,Steps,Hidden]", (texts), ts::lstm<10, ts::lstm_cell<128, from_input, from_hidden>>),
        PART("gru<Steps, Cells...>", "cells `gru_cell<Hidden, FromInput, FromHidden, Before>`",
             "[N,T,C] -> [N,Steps,Hidden]", (texts), ts::gru<10, ts::gru_cell<128, gru_input, gru_hidden>>),
        PART("both_ways<Forward, Backward>", "two cells as one: from the first step, and from the last",
             "[N,T,C] -> [N,Steps,Hidden + Hidden]", (texts), ts::lstm<10, ts::both_ways<state, back>>),
        PART("with_lengths<L>", "a `padded_softmax`, `lstm` or `gru` of padded sequences; lengths become an input",
             "as L", (texts), ts::with_lengths<ts::lstm<10, state>>),
    };
}

} // namespace docs_support
