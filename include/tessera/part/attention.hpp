// SPDX-License-Identifier: Apache-2.0
// Attention over sequences [N,T,C].
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/network.hpp"
#include "tessera/op/matmul.hpp"

namespace tessera {

namespace detail {

template <int Heads, class Query, class Key, class Value, class Output, class... Weights>
struct attention_parts {
    struct scores : matmul<heads<Heads>, transpose_second, scaled> {};
    struct mixture : matmul<heads<Heads>> {};
    static constexpr int op_count = ops_in<Query, Key, Value, scores, Weights..., mixture, Output>();

    template <int I, class Owner>
    static constexpr auto nth() {
        return nth_of<I, Owner, Query, Key, Value, scores, Weights..., mixture, Output>();
    }
    /// Queries of `tensor` to the keys and values of `memory`.
    static constexpr int build(graph_builder& b, int tensor, int memory) {
        const int queries = append<Query>(b, tensor);
        const int keys = append<Key>(b, memory);
        const int values = append<Value>(b, memory);
        const int weights = append_all<Weights...>(b, apply_layer<scores>(b, queries, keys));
        return append<Output>(b, apply_layer<mixture>(b, weights, values));
    }
};

} // namespace detail

/// Multi-head attention of a sequence to itself (Vaswani et al. 2017, section 3.2.2): Query, Key, Value and Output are
/// linear layers or parts that end in one; Weights turn scores [N,Heads,T,T] into weights, for instance
/// softmax<causal>, dropout<10>.
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
