// SPDX-License-Identifier: Apache-2.0
// DeepSeek-V3 (Liu et al. 2024, "DeepSeek-V3 Technical Report"): latent attention, and experts that are balanced
// without a loss.
#pragma once

#include "examples/zoo/llama.hpp"
#include "tessera/op/scale.hpp"
#include "tessera/op/sigmoid.hpp"
#include "tessera/part/latent_attention.hpp"
#include "tessera/part/routing.hpp"

namespace networks {

/// Sections 4.2 and 2.1 of the report; positions are those of pre-training.
struct deepseek_v3_sizes {
    static constexpr int dense_layers = 3; ///< the first ones
    static constexpr int layers = 58;      ///< behind them, with experts
    static constexpr ts::index_t width = 7168;
    static constexpr int heads = 128;
    static constexpr ts::index_t query_rank = 1536; ///< of what queries are made of
    static constexpr ts::index_t rank = 512;        ///< of what keys and values are made of
    static constexpr ts::index_t plain = 128;       ///< channels of a head's queries and keys without positions
    static constexpr ts::index_t turned = 64;       ///< and with them
    static constexpr ts::index_t value_width = 128;
    static constexpr ts::index_t hidden = 18432; ///< of dense layers
    static constexpr ts::index_t experts = 256;
    static constexpr ts::index_t expert_hidden = 2048;
    static constexpr ts::index_t top = 8;
    static constexpr ts::index_t context = 4096;
    static constexpr ts::index_t vocabulary = 129280;
};

/// A token goes to S::top experts by a sigmoid and a bias that balances the loads, and to one more, which all share;
/// gates are 2.5 times their shares. What the published network has besides: experts are chosen within 4 of 8 groups;
/// a small loss evens out the loads of a sample, and the bias moves by a fixed step; a second output predicts the token
/// behind the next one. An expert takes at most 1.25 times its even share of a sample's tokens, where it takes all.
template <class S>
struct deepseek_parts {
    using norm = ts::rms_norm<ts::epsilon<1e-6>>;
    struct words : ts::embedding<S::vocabulary, S::width> {};
    struct last_norm : norm {};
    struct logits : ts::linear<S::vocabulary, ts::no_bias> {};

    /// Of blocks without experts (0) and with them (1).
    template <int Block>
    struct layers {
        struct attention_norm : norm {};
        struct query_down : ts::linear<S::query_rank, ts::no_bias> {};
        struct query_norm : norm {};
        struct query : ts::linear<S::heads * S::plain, ts::no_bias> {};
        struct turned_query : ts::linear<S::heads * S::turned, ts::no_bias> {};
        struct latent : ts::linear<S::rank, ts::no_bias> {};
        struct latent_norm : norm {};
        struct key : ts::linear<S::heads * S::plain, ts::no_bias> {};
        struct turned_key : ts::linear<S::turned, ts::no_bias> {};
        struct value : ts::linear<S::heads * S::value_width, ts::no_bias> {};
        struct merge : ts::linear<S::width, ts::no_bias> {};
        struct feed_forward_norm : norm {};
        struct gate : ts::linear<Block == 0 ? S::hidden : S::expert_hidden, ts::no_bias> {};
        struct up : ts::linear<Block == 0 ? S::hidden : S::expert_hidden, ts::no_bias> {};
        struct down : ts::linear<S::width, ts::no_bias> {};
        using attention =
            ts::latent_attention<S::heads, ts::branch<query_down, query_norm>, query,
                                 ts::branch<turned_query, ts::rotary<ts::heads<S::heads>>>,
                                 ts::branch<latent, latent_norm>, key, ts::branch<turned_key, ts::rotary<>>, value,
                                 merge, ts::softmax<ts::causal>>;
        using swiglu = ts::swiglu<gate, up, down>;
        template <class FeedForward>
        using block = ts::branch<ts::residual<attention_norm, attention>, ts::residual<feed_forward_norm, FeedForward>>;
    };

    struct router : ts::linear<S::experts, ts::no_bias> {};
    struct bias : ts::choice_bias<> {};
struct slots : ts::token_slots<ts::top<S::top>, ts::capacity_factor<1.25>> {};
    struct expert_gate : ts::routed_linear<S::expert_hidden> {};
    struct expert_up : ts::routed_linear<S::expert_hidden> {};
    struct expert_down : ts::routed_linear<S::width> {};
    using gates = ts::branch<router, ts::sigmoid, ts::bias_balanced<S::top, bias>, ts::scale<2.5>>;
    using routed = ts::routed_experts<
        slots, gates, ts::swiglu<ts::with_slots<expert_gate>, ts::with_slots<expert_up>, ts::with_slots<expert_down>>>;
    using mixture = ts::branches<ts::add, routed, ts::branch<typename layers<1>::swiglu>>;
    using network =
        ts::sequential<ts::tokens<S::context>, words,
                       ts::repeat<S::dense_layers, typename layers<0>::template block<typename layers<0>::swiglu>>,
                       ts::repeat<S::layers, typename layers<1>::template block<mixture>>, last_norm, logits,
                       ts::cross_entropy>;
};
struct deepseek_v3 : deepseek_parts<deepseek_v3_sizes>::network {};

} // namespace networks
