// SPDX-License-Identifier: Apache-2.0
// Rows of docs/layers.md: linear layers, tables, sequences, experts, and parts that are made of layers.
#pragma once

#include "docs/layer_rows.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/part/experts.hpp"
#include "tessera/part/gated.hpp"
#include "tessera/part/gru.hpp"
#include "tessera/part/lstm.hpp"
#include "tessera/part/one_dimension.hpp"
#include "tessera/part/padded.hpp"
#include "tessera/part/residual.hpp"

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
struct memory; // a tensor that was saved under this name
struct gate : ts::linear<4> {};
struct wide_gate : ts::linear<512> {};
struct wide_up : ts::linear<512> {};
struct wide : ts::expert_linear<4, 512> {};
struct narrow : ts::expert_linear<4, 256> {};
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
        LAYER("length_mask<T>", "1 within a sample's length, 0 behind it", "lengths [N] -> [N,T,1]", ({make_shape(8)}),
              ts::length_mask<128>),
        LAYER("dispatch_mask<Slots, top<>>", "1 where a token has a slot of one of its best experts",
              "gates [N,T,E] -> [N,T,E Slots]", ({make_shape(8, 128, 4)}), ts::dispatch_mask<40, ts::top<2>>),
        LAYER("combine_weights<Slots, top<>>", "the same with its gate in place of 1", "gates [N,T,E] -> [N,T,E Slots]",
              ({make_shape(8, 128, 4)}), ts::combine_weights<40, ts::top<2>>),
        LAYER("expert_linear<Experts, Out>", "a matrix for each expert's slots", "[N,E Slots,I] -> [N,E Slots,Out]",
              ({make_shape(8, 160, 256)}), ts::expert_linear<4, 512>),
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
             "multi-head attention; Weights turn scores [N,Heads,T,T] into weights", "[N,T,C] -> as Output", (texts),
             ts::self_attention<4, query, key, value, merge, ts::softmax<ts::causal>>),
        PART("cross_attention<Memory, Heads, Query, Key, Value, Output, Weights...>",
             "the same with keys and values of the tensor saved as Memory", "[N,T,C] -> as Output",
             (texts, ts::save<memory>), ts::cross_attention<memory, 4, query, key, value, merge, ts::softmax<>>),
        PART("mixture_of_experts<Slots, Top, Gate, Experts...>",
             "each token goes to its Top best experts, each with Slots for the tokens of a sample",
             "[N,T,C] -> [N,T,as Experts]", (texts), ts::mixture_of_experts<40, 2, gate, wide, ts::gelu, narrow>),
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
