// SPDX-License-Identifier: Apache-2.0
// Language models of today: rotary positions, root mean square norms, SwiGLU.
#pragma once

#include "tessera/net/network.hpp"
#include "tessera/op/rms_norm.hpp"
#include "tessera/op/rotary.hpp"
#include "tessera/part/attention.hpp"
#include "tessera/part/gated.hpp"
#include "tessera/part/residual.hpp"

namespace networks {

namespace ts = tessera;

/// LLaMA (Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models"): no biases, positions as
/// rotations of queries and keys (Su et al. 2021), norms before the parts (Zhang and Sennrich 2019), silu(x W) * (x V)
/// in the middle of Hidden channels (Shazeer 2020, "GLU Variants Improve Transformer").
template <int Layers, ts::index_t Width, int Heads, ts::index_t Hidden, ts::index_t Context, ts::index_t Vocabulary>
struct llama_parts {
    struct words : ts::embedding<Vocabulary, Width> {};
    struct query : ts::linear<Width, ts::no_bias> {};
    struct key : ts::linear<Width, ts::no_bias> {};
    struct value : ts::linear<Width, ts::no_bias> {};
    struct merge : ts::linear<Width, ts::no_bias> {};
    struct gate : ts::linear<Hidden, ts::no_bias> {};
    struct up : ts::linear<Hidden, ts::no_bias> {};
    struct down : ts::linear<Width, ts::no_bias> {};
    struct attention_norm : ts::rms_norm<> {};
    struct feed_forward_norm : ts::rms_norm<> {};
    struct last_norm : ts::rms_norm<> {};
    struct logits : ts::linear<Vocabulary, ts::no_bias> {};

    template <class Layer>
    using turned = ts::branch<Layer, ts::rotary<ts::heads<Heads>>>;
    using attention = ts::self_attention<Heads, turned<query>, turned<key>, value, merge, ts::softmax<ts::causal>>;
    using swiglu = ts::swiglu<gate, up, down>;
    using network = ts::sequential<
        ts::tokens<Context>, words,
        ts::repeat<Layers, ts::residual<attention_norm, attention>, ts::residual<feed_forward_norm, swiglu>>, last_norm,
        logits, ts::cross_entropy>;
};
/// Of LLaMA 2 (Touvron et al. 2023b), with its 4096 positions; all that was said holds for it.
struct llama2_7b : llama_parts<32, 4096, 32, 11008, 4096, 32000>::network {};
struct llama2_13b : llama_parts<40, 5120, 40, 13824, 4096, 32000>::network {};

} // namespace networks
