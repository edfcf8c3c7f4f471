// SPDX-License-Identifier: Apache-2.0
// Look-ups in tables: of tokens, and of positions.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/add.hpp"
#include "tessera/op/options.hpp"
#include "tessera/op/record.hpp"

namespace tessera::op {

struct embedding_attributes {
    index_t vocabulary = 0; ///< rows of the table
    index_t out = 0;        ///< features
    static constexpr attribute_field fields[] = {{"vocabulary", 1, 1}, {"out", 1, 1}};
};

/// tokens[N] or [N,T] (int32), table[V,C] -> y[N,C] or [N,T,C]: the sum over all v of table[v] where v is the token. So
/// described, a split of the vocabulary is a split of a sum: every shard looks up what it has, and leaves a partial
/// result; and the gradient of the table is summed over samples and positions.
constexpr description describe_embedding(const embedding_attributes& a, const shape& x) {
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int t = x.rank > 1 ? w.add_loop(loop_name::position, x[1]) : -1;
    const int c = w.add_loop(loop_name::channel, a.out);
    const int v = w.add_loop(loop_name::reduction, a.vocabulary);
    const auto row = [&](int which) {
        w.index(which, x[0], n);
        if (t >= 0) {
            w.index(which, x[1], t);
        }
    };
    const int tokens = w.add_operand(operand_kind::input, 0, element::i32);
    row(tokens);
    w.d.operands[tokens].differentiable = false;
    const int table = w.add_operand(operand_kind::parameter, 0);
    w.index(table, a.vocabulary, v);
    w.index(table, a.out, c);
    w.d.operands[table].gathered = true;
    const int output = w.add_operand(operand_kind::output, 0);
    row(output);
    w.index(output, a.out, c);
    w.d.operands[table].gradient_reads = bit(tokens);
    w.add_nest(w.all_loops(), bit(tokens) | bit(table), output, reducer::sum, 0);
    return w.d;
}

struct position_embedding_attributes {
    index_t rows = 0; ///< of the table; 0: as many as there are positions
    static constexpr attribute_field fields[] = {{"rows"}};
};

/// x[N,T,C], table[T,C] -> x + table, the same for every sample. A table[rows,C] of its own number of rows is used from
/// its first row on. A shard of positions then has the whole table, not the rows alone that it reads: so the table lies
/// in the same places whatever the length. Its gradient, zeros at the rows of others, is summed over samples and
/// positions.
constexpr description describe_position_embedding(const position_embedding_attributes& a, const shape& x) {
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int t = w.add_loop(loop_name::position, x[1]);
    const int c = w.add_loop(loop_name::channel, x[2]);
    const int input = w.add_operand(operand_kind::input, 0);
    const int table = w.add_operand(operand_kind::parameter, 0);
    const int output = w.add_operand(operand_kind::output, 0);
    const int tensors[] = {input, output};
    for (const int which : tensors) {
        w.index(which, x[0], n);
        w.index(which, x[1], t);
        w.index(which, x[2], c);
    }
    if (a.rows > 0) {
        w.index(table, a.rows, w.everything());
        w.d.operands[table].gathered = true;
    } else {
        w.index(table, x[1], t);
    }
    w.index(table, x[2], c);
    w.d.operands[table].additive = true;
    w.add_nest(w.all_loops(), bit(input) | bit(table), output, reducer::none, 1);
    return w.d;
}

constexpr inferred infer_embedding(const embedding_attributes& a, const shape& x) {
    const inferred r = detail::infer_rank(x, 1, 2, a.out < a.vocabulary ? a.out : a.vocabulary);
    return r.refused ? r : inferred{{}, x.rank == 1 ? make_shape(x[0], a.out) : make_shape(x[0], x[1], a.out)};
}

constexpr inferred infer_position_embedding(const position_embedding_attributes& a, const shape& x) {
    const inferred r = detail::infer_rank(x, 3, 3, a.rows < 0 ? 0 : 1);
    const bool fits = r.refused || a.rows == 0 || x[1] <= a.rows;
    return fits ? r
                : detail::refuse(rule::table_of_fewer_positions, a.rows, x[1], static_cast<int>(loop_name::position));
}

inline constexpr op_record embedding_record{
    .name = "embedding",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_embedding(a.as<embedding_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_embedding(a.as<embedding_attributes>(), *x); },
    .index_bound = [](const op_attributes& a, const shape*, int) { return a.as<embedding_attributes>().vocabulary; },
    .own = list_of<embedding_attributes>(),
};
/// Piece by piece it is a look-up of positions, whose vectors are added. What is looked up is not rounded, as it is not
/// where a position's vector is added at once.
constexpr piecewise_use position_embedding_in_pieces(const op_attributes& a, const shape* x, index_t room) {
    const auto own = a.as<position_embedding_attributes>();
    const index_t rows = own.rows == 0 ? x[0][1] : own.rows;
    piecewise_use u;
    if (rows < room) {
        u.refused = problem{rule::table_of_fewer_positions, -1, static_cast<int>(loop_name::position), rows, room};
    }
    u.attributes = attributes_of(op_kind{&add_record}, detail::no_attributes{});
    u.attributes.math = a.math;
    u.looks_up = true;
    u.look_up = attributes_of(op_kind{&embedding_record}, embedding_attributes{rows, x[0][2]});
    return u;
}

inline constexpr op_record position_embedding_record{
    .name = "position_embedding",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_position_embedding(a.as<position_embedding_attributes>(), *x); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_position_embedding(a.as<position_embedding_attributes>(), *x); },
    .for_longest =
        [](op_attributes a, const shape* x) {
            const auto own = a.as<position_embedding_attributes>();
            a.set(own.rows == 0 ? position_embedding_attributes{x[0][1]} : own);
            return a;
        },
    .piecewise = [](const op_attributes& a, const shape* x,
                    index_t room) { return position_embedding_in_pieces(a, x, room); },
    .own = list_of<position_embedding_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::embedding{&op::embedding_record};
inline constexpr op_kind op_kind::position_embedding{&op::position_embedding_record};

/// embedding<vocabulary, output features, frozen>: tokens [N] or [N,T] -> [N,Out] or [N,T,Out].
template <index_t Vocabulary, index_t Out, class... Options>
struct embedding {
    static constexpr op_attributes attributes =
        detail::make_attributes<op_kind::embedding, Options...>(op::embedding_attributes{Vocabulary, Out});
};
/// position_embedding<rows<1024>, frozen>: adds a trained vector to every position of a sequence: [N,T,C]. Without
/// rows<> its table has as many rows as there are positions; in a network of any length, as there are in the longest.
template <class... Options>
struct position_embedding
    : detail::layer_with<op_kind::position_embedding, op::position_embedding_attributes, Options...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
