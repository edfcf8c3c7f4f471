// SPDX-License-Identifier: Apache-2.0
// Attention whose keys and values come from one narrow vector of each position (DeepSeek-V2, Liu et al. 2024, section
// 2.1: multi-head latent attention).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/broadcast_to.hpp"
#include "tessera/op/concat.hpp"
#include "tessera/op/reshape.hpp"
#include "tessera/part/attention.hpp"

namespace tessera {

/// Multi-head latent attention of a sequence to itself. Each head's queries and keys have two parts side by side: one
/// without positions, and one that is turned by them, of keys the same for all heads. Values may have another width.
///
/// - Queries, a part: x -> what Query and TurnedQuery start from, such as branch<query_down, query_norm>, or branch<>.
/// - Query, TurnedQuery: -> [N,T,Heads*W] and [N,T,Heads*R], such as a linear layer, and branch<turned_query,
///   rotary<heads<Heads>>>.
/// - Latent, a part: x -> what keys and values are made of, such as branch<down, norm>.
/// - Key, Value: latent -> [N,T,Heads*W] and [N,T,Heads*V].
/// - TurnedKey: x -> [N,T,R], such as branch<turned_key, rotary<>>.
/// - Output and Weights: those of self_attention. Scores are divided by the root of W + R.
///
/// Query and TurnedQuery have the rows of what is one matrix in DeepSeek's weights; so have Key and Value, and the down
/// projection in Latent and the one in TurnedKey.
template <int Heads, class Queries, class Query, class TurnedQuery, class Latent, class Key, class TurnedKey,
          class Value, class Output, class... Weights>
struct latent_attention {
    using core = detail::attention_core<Heads, Weights...>;
    static constexpr int before_key = detail::ops_in<Queries, Query, TurnedQuery>() + 4;
    static constexpr int before_value = before_key + detail::ops_in<Latent, Key, TurnedKey>() + 5;
    static constexpr int before_core = before_value + detail::ops_in<Value>();
    static constexpr int op_count = before_core + core::op_count + detail::ops_in<Output>();

    template <int I>
    static constexpr auto nth() {
        if constexpr (I < before_key) {
            return detail::nth_of<I, latent_attention, Queries, Query, TurnedQuery>();
        } else if constexpr (I < before_value) {
            return detail::nth_of<I - before_key, latent_attention, Latent, Key, TurnedKey>();
        } else if constexpr (I < before_core) {
            return detail::nth_of<I - before_value, latent_attention, Value>();
        } else if constexpr (I < before_core + core::op_count) {
            return core::template nth<I - before_core, latent_attention>();
        } else {
            return detail::nth_of<I - before_core - core::op_count, latent_attention, Output>();
        }
    }
    static constexpr int build(graph_builder& b, int tensor) {
        const int from = detail::append<Queries>(b, tensor);
        const int query = detail::append<Query>(b, from);
        const int turned_query = detail::append<TurnedQuery>(b, from);
        const int queries = side_by_side(b, query, heads_of(b, turned_query));
        const int latent = detail::append<Latent>(b, tensor);
        const int key = detail::append<Key>(b, latent);
        const int shared_key = detail::append<TurnedKey>(b, tensor);
        const int keys = side_by_side(b, key, of_all_heads(b, shared_key));
        const int values = detail::append<Value>(b, latent);
        return detail::append<Output>(b, core::build(b, queries, keys, values));
    }

private:
    struct by_head;
    struct to_all_heads;
    struct both_parts;
    struct joined;

    template <class Own>
    static constexpr int add(graph_builder& b, op_kind kind, const Own& own, const char* name, type_key key, int tensor,
                             int other = -1) {
        const int both[2] = {tensor, other};
        return b.refused ? -1 : b.add_op(attributes_of(kind, own), name, key, false, both, other < 0 ? 1 : 2);
    }
    /// [N,T,C] -> [N,T,Count,C/Count].
    static constexpr int split_heads(graph_builder& b, int tensor, index_t count) {
        if (b.refused) {
            return -1;
        }
        const shape& x = b.tensors[tensor].extents;
        b.refused_at = "latent_attention";
        if (x.rank != 3) {
            return b.fail({rule::input_has_wrong_rank, 0, -1, x.rank, 3});
        }
        if (x[2] % count != 0) {
            return b.fail({rule::heads_do_not_divide_channels, 0, static_cast<int>(loop_name::channel), x[2], count});
        }
        return add(b, op_kind::reshape, op::reshape_attributes{{-1, count, x[2] / count}, 3}, "by_head",
                   key_of<by_head>, tensor);
    }
    static constexpr int heads_of(graph_builder& b, int tensor) { return split_heads(b, tensor, Heads); }
    /// [N,T,R] -> [N,T,Heads,R], the same for every head.
    static constexpr int of_all_heads(graph_builder& b, int tensor) {
        return add(b, op_kind::broadcast_to, op::broadcast_to_attributes{{-1, Heads, -1}, 3}, "to_all_heads",
                   key_of<to_all_heads>, split_heads(b, tensor, 1));
    }
    /// [N,T,Heads*W] and [N,T,Heads,R] -> [N,T,Heads*(W+R)].
    static constexpr int side_by_side(graph_builder& b, int plain, int turned) {
        const int both = add(b, op_kind::concat, op::concat_attributes{3}, "both_parts", key_of<both_parts>,
                             heads_of(b, plain), turned);
        if (b.refused) {
            return -1;
        }
        const index_t each = b.tensors[both].extents[3];
        return add(b, op_kind::reshape, op::reshape_attributes{{-1, Heads * each}, 2}, "joined", key_of<joined>, both);
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
