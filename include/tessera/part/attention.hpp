// SPDX-License-Identifier: Apache-2.0
// Attention over sequences [N,T,C].
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/network.hpp"
#include "tessera/op/attention.hpp"
#include "tessera/op/dropout.hpp"
#include "tessera/op/matmul.hpp"
#include "tessera/op/softmax.hpp"
#include "tessera/part/padded.hpp"

namespace tessera {

namespace detail {

/// How queries, keys and values become their mixture. With Weights of any kind: scores and weights [N,Heads,T,S] are
/// tensors.
template <int Heads, class... Weights>
struct attention_core {
    struct scores : matmul<heads<Heads>, transpose_second, scaled> {};
    struct mixture : matmul<heads<Heads>> {};
    static constexpr int op_count = ops_in<scores, Weights..., mixture>();

    template <int I, class Owner>
    static constexpr auto nth() {
        return nth_of<I, Owner, scores, Weights..., mixture>();
    }
    static constexpr int build(graph_builder& b, int queries, int keys, int values) {
        const int weights = append_all<Weights...>(b, apply_layer<scores>(b, queries, keys));
        return apply_layer<mixture>(b, weights, values);
    }
};

enum class hidden_keys { none, by_length, by_mask };

/// In one operator, without such tensors.
template <class Layer, hidden_keys Hidden = hidden_keys::none, bool IsShared = false>
struct attention_operator {
    static constexpr int op_count = 1;

    template <int, class>
    static constexpr auto nth() {
        return identity<Layer>{};
    }
    static constexpr int build(graph_builder& b, int queries, int keys, int values) {
        if (b.refused) {
            return -1;
        }
        int all[4] = {queries, keys, values, -1};
        if constexpr (Hidden != hidden_keys::none) {
            const shape of = b.tensors[keys].extents;
            all[3] = Hidden == hidden_keys::by_length ? lengths_in(b, of[0]) : mask_in(b, of[0], of[1]);
        }
        return b.add_op(Layer::attributes, name_of_layer<Layer>(), key_of<Layer>, IsShared, all,
                        Hidden != hidden_keys::none ? 4 : 3);
    }
};

template <class L>
concept AttentionLayer = Layer<L> &&(L::attributes.kind == op_kind::attention);
template <class L>
concept PaddedAttentionLayer = Layer<L> &&(L::attributes.kind == op_kind::padded_attention);

template <int Heads, class... Options>
struct attention_core<Heads, softmax<Options...>> : attention_operator<attention<heads<Heads>, Options...>> {};
template <int Heads, class... Options, int Percent>
struct attention_core<Heads, softmax<Options...>, dropout<Percent>>
    : attention_operator<attention<heads<Heads>, Options..., percent<Percent>>> {};
template <int Heads, class... Options>
struct attention_core<Heads, with_lengths<padded_softmax<Options...>>>
    : attention_operator<padded_attention<heads<Heads>, Options...>, hidden_keys::by_length> {};
template <int Heads, class... Options, int Percent>
struct attention_core<Heads, with_lengths<padded_softmax<Options...>>, dropout<Percent>>
    : attention_operator<padded_attention<heads<Heads>, Options..., percent<Percent>>, hidden_keys::by_length> {};

template <int Heads, class L>
constexpr bool has_heads = L::attributes.template as<op::attention_attributes>().heads == Heads;

template <int Heads, AttentionLayer L, bool IsShared = false>
struct attention_of : attention_operator<L, hidden_keys::none, IsShared> {
    static_assert(has_heads<Heads, L>, "tessera: an attention<> in self_attention<Heads, ...> has as many heads<>");
};
template <int Heads, PaddedAttentionLayer L, hidden_keys Hidden, bool IsShared = false>
struct padded_attention_of : attention_operator<L, Hidden, IsShared> {
    static_assert(has_heads<Heads, L>,
                  "tessera: a padded_attention<> in self_attention<Heads, ...> has as many heads<>");
};
template <int Heads, AttentionLayer L>
struct attention_core<Heads, L> : attention_of<Heads, L> {};
template <int Heads, AttentionLayer L>
struct attention_core<Heads, shared<L>> : attention_of<Heads, L, true> {};
template <int Heads, PaddedAttentionLayer L>
struct attention_core<Heads, with_lengths<L>> : padded_attention_of<Heads, L, hidden_keys::by_length> {};
template <int Heads, PaddedAttentionLayer L>
struct attention_core<Heads, with_lengths<shared<L>>> : padded_attention_of<Heads, L, hidden_keys::by_length, true> {};
template <int Heads, PaddedAttentionLayer L>
struct attention_core<Heads, with_mask<L>> : padded_attention_of<Heads, L, hidden_keys::by_mask> {};
template <int Heads, PaddedAttentionLayer L>
struct attention_core<Heads, with_mask<shared<L>>> : padded_attention_of<Heads, L, hidden_keys::by_mask, true> {};

template <int Heads, class Query, class Key, class Value, class Output, class... Weights>
struct attention_parts {
    using core = attention_core<Heads, Weights...>;
    static constexpr int before = ops_in<Query, Key, Value>();
    static constexpr int op_count = before + core::op_count + ops_in<Output>();

    template <int I, class Owner>
    static constexpr auto nth() {
        if constexpr (I < before) {
            return nth_of<I, Owner, Query, Key, Value>();
        } else if constexpr (I < before + core::op_count) {
            return core::template nth<I - before, Owner>();
        } else {
            return nth_of<I - before - core::op_count, Owner, Output>();
        }
    }
    /// Queries of `tensor` to the keys and values of `memory`.
    static constexpr int build(graph_builder& b, int tensor, int memory) {
        const int queries = append<Query>(b, tensor);
        const int keys = append<Key>(b, memory);
        const int values = append<Value>(b, memory);
        return append<Output>(b, core::build(b, queries, keys, values));
    }
};

} // namespace detail

/// Multi-head attention of a sequence to itself (Vaswani et al. 2017, section 3.2.2): Query, Key, Value and Output are
/// linear layers or parts that end in one. Weights say how scores become weights:
///
/// - softmax<>, softmax<causal>, with_lengths<padded_softmax<>>, each alone or with a dropout<> behind it, or an
///   attention<> (with_lengths<padded_attention<>>, with_mask<padded_attention<>>) with further options: one operator,
///   which keeps no weights. shared<L> in place of such a layer L has one table of buckets for all that use it;
/// - anything else, such as layers of your own that inherit from these: they turn scores [N,Heads,T,T] into weights,
///   which are tensors that other parts may read.
template <int Heads, class Query, class Key, class Value, class Output, class... Weights>
struct self_attention {
    using parts = detail::attention_parts<Heads, Query, Key, Value, Output, Weights...>;
    static constexpr int op_count = parts::op_count;
    template <int I>
    static constexpr auto nth() {
        return parts::template nth<I, self_attention>();
    }
    static constexpr int build(graph_builder& b, int tensor) {
        return b.refused ? -1 : parts::build(b, tensor, tensor);
    }
};

/// The same with keys and values from the tensor that was saved, or is called, Memory.
template <class Memory, int Heads, class Query, class Key, class Value, class Output, class... Weights>
struct cross_attention {
    using parts = detail::attention_parts<Heads, Query, Key, Value, Output, Weights...>;
    static constexpr int op_count = parts::op_count;
    template <int I>
    static constexpr auto nth() {
        return parts::template nth<I, cross_attention>();
    }
    static constexpr int build(graph_builder& b, int tensor) {
        if (b.refused) {
            return -1;
        }
        const int memory = b.find_tap(key_of<Memory>);
        b.refused_at = type_name<Memory>();
        return memory < 0 ? b.fail({rule::tap_not_saved, 0, -1, 0, 1}) : parts::build(b, tensor, memory);
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
