// SPDX-License-Identifier: Apache-2.0
// The network that continues sequences: a few new positions at a time, with what attention needs of those before them
// kept. It is made of a network of whole sequences, as a value.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/graph.hpp"
#include "tessera/net/lengths.hpp"

namespace tessera {

namespace detail {

/// Where positions are among the dimensions of the tensors that the tokens of a network make; a walk through its
/// operators up to a tensor.
class position_walk {
public:
    /// `tensor`: what is to be made. The arrays have a number for every tensor.
    constexpr position_walk(const graph_view& g, int tensor, int* needed, int* position)
        : g_(g), needed_(needed), position_(position) {
        for (int t = 0; t < g.tensor_count; ++t) {
            needed[t] = t == tensor ? 1 : 0;
            position[t] = -1;
        }
        for (int op = g.op_count; op-- > 0;) {
            for (const int t : g.ops[op].inputs) {
                needed[t] = needed[t] != 0 || needed[g.ops[op].output] != 0 ? 1 : 0;
            }
        }
    }

    /// The one input, tokens [N,T]; -1: there is another, or none.
    constexpr int tokens() const {
        int found = -1;
        for (int t = 0; t < g_.tensor_count; ++t) {
            if (needed_[t] == 0 || g_.tensors[t].producer >= 0) {
                continue;
            }
            const bool fits = g_.tensors[t].type == element::i32 && g_.tensors[t].extents.rank == 2;
            if (found >= 0 || !fits) {
                return -1;
            }
            found = t;
        }
        return found;
    }

    /// Calls visit(op, how, is_placed) for every operator, in order, with what stands in the place of those that are
    /// not the same at every position. The first rule that one breaks.
    template <class Visit>
    constexpr problem over(index_t room, Visit&& visit) {
        const int from = tokens();
        if (from < 0) {
            return {rule::generates_from_tokens, -1, -1, 0, 1};
        }
        position_[from] = 1;
        bool keeps = false;
        int last = -1;
        for (int op = 0; op < g_.op_count; ++op) {
            const op_node& o = g_.ops[op];
            if (g_.is_loss(op) && compares_samples(op)) {
                return {rule::loss_compares_samples, op, -1, 0, 0};
            }
            if (needed_[o.output] == 0) {
                continue;
            }
            last = op;
            const auto& piecewise = record_of(o.attributes).piecewise;
            if (piecewise != nullptr) {
                const graph_view::input_shapes inputs = g_.shapes_of_inputs(op);
                const piecewise_use how = piecewise(o.attributes, inputs.of, room);
                if (how.refused) {
                    problem p = how.refused;
                    p.op = op;
                    return p;
                }
                if (!are_sequences(op)) {
                    return {rule::other_positions_are_read, op, -1, 0, 0};
                }
                position_[o.output] = 1;
                keeps = keeps || how.kept.size() > 0;
                visit(op, how, true);
                continue;
            }
            if (!follows(op)) {
                return {rule::other_positions_are_read, op, -1, 0, 0};
            }
            visit(op, piecewise_use{}, false);
        }
        if (last < 0 || position_[g_.ops[last].output] != 1 || g_.output_of(last).extents.rank != 3) {
            return {rule::generates_from_tokens, last, -1, 0, 1};
        }
        return keeps ? problem{} : problem{rule::nothing_to_keep, last, -1, 0, 1};
    }

private:
    constexpr bool compares_samples(int op) const {
        const description d = g_.describe(op);
        const int samples = d.find_loop(loop_name::sample);
        for (const operand& o : d.operands) {
            if (o.kind == operand_kind::input && !depends(o, samples)) {
                return true;
            }
        }
        return false;
    }
    /// Whether all inputs are [N,T,C].
    constexpr bool are_sequences(int op) const {
        for (const int t : g_.ops[op].inputs) {
            if (position_[t] != 1 || g_.tensors[t].extents.rank != 3) {
                return false;
            }
        }
        return true;
    }

    /// The loop that is the whole index of a dimension; -1: there is none.
    static constexpr int loop_of(const affine& index) {
        const bool plain = !index.all && index.offset == 0 && index.terms.size() == 1;
        return plain && index.terms[0].coefficient == 1 ? index.terms[0].loop : -1;
    }
    /// Whether the loop is in the index of that dimension alone (-1: of none).
    static constexpr bool is_only_in(const operand& o, int loop_index, int dimension) {
        for (int d = 0; d < o.extents.rank; ++d) {
            for (const affine::term& t : o.dim[d].terms) {
                if (t.loop == loop_index && d != dimension) {
                    return false;
                }
            }
        }
        return true;
    }
    /// Whether loop nests compute with the number of a position.
    static constexpr bool reads_index(const op_attributes& a, const description& d, int loop_index) {
        const nests::generator* const from = record_of(a).generated;
        if (from == nullptr) {
            return false;
        }
        const int first = d.find_operand(operand_kind::input);
        const int rank = first < 0 ? 0 : d.operands[first].extents.rank;
        for (const nests::scalar& s : from->of_rank[rank]->scalars) {
            if (s.kind != nests::scalar_kind::number && s.loop == loop_index) {
                return true;
            }
        }
        return false;
    }

    /// Whether each position of the output is made of the same position of the inputs; then it knows where they are.
    constexpr bool follows(int op) {
        const op_node& o = g_.ops[op];
        const description d = g_.describe(op);
        int along = -1;
        for (const operand& x : d.operands) {
            const int at = x.kind == operand_kind::input ? position_[o.inputs[x.slot]] : -1;
            if (at < 0) {
                continue;
            }
            const int mine = x.extents.rank > at ? loop_of(x.dim[at]) : -1;
            if (mine < 0 || (along >= 0 && mine != along)) {
                return false;
            }
            along = mine;
        }
        if (along < 0) {
            return false; // of no tokens
        }
        const loop_role how = role(d, along);
        if (how == loop_role::coupled || how == loop_role::reduction || how == loop_role::parameter ||
            d.seen.row == along || d.seen.column == along || reads_index(o.attributes, d, along)) {
            return false;
        }
        int to = -1;
        const operand& y = d.operands[d.output()];
        for (int k = 0; k < y.extents.rank; ++k) {
            to = loop_of(y.dim[k]) == along ? k : to;
        }
        for (const operand& x : d.operands) {
            const int at = x.kind == operand_kind::input    ? position_[o.inputs[x.slot]]
                           : x.kind == operand_kind::output ? to
                                                            : -1;
            if ((x.kind == operand_kind::input || x.kind == operand_kind::output) && !is_only_in(x, along, at)) {
                return false;
            }
        }
        position_[o.output] = to;
        return to > 0;
    }

    const graph_view& g_;
    int* needed_;
    int* position_;
};

} // namespace detail

/// The first rule that a network breaks from whose tensor `tensor`, logits [N,T,V], sequences of up to `room` positions
/// are to be generated.
constexpr problem problem_of_decoding(const graph_view& g, int tensor, index_t room) {
    int* const needed = new int[to_size(g.tensor_count)]{};
    int* const position = new int[to_size(g.tensor_count)]{};
    const problem p = detail::position_walk(g, tensor, needed, position).over(room, [](auto&&...) {});
    delete[] needed;
    delete[] position;
    return p;
}

/// Positions of the sequences that a network makes a tensor of; 0 where it makes it of no tokens.
constexpr index_t positions_of(const graph_view& g, int tensor) {
    int* const needed = new int[to_size(g.tensor_count)]{};
    int* const position = new int[to_size(g.tensor_count)]{};
    const int tokens = detail::position_walk(g, tensor, needed, position).tokens();
    delete[] needed;
    delete[] position;
    return tokens < 0 ? 0 : g.tensors[tokens].extents[1];
}

/// A network that continues sequences. Its inputs are tokens[N,P], number[N] of each sample's first new position, and,
/// where something looks them up, number[N,P] of all; its output is logits[N,P,V]. Parameters are those of the whole
/// network under their numbers, and behind them what is kept.
struct decoding_network {
    graph network;
    std::vector<int> ops; ///< for each operator the one of the whole network whose place it has
    int tokens = -1;      ///< tensors
    int first = -1;
    int places = -1; ///< -1: nothing looks them up
    int output = -1;
    int kept_from = 0; ///< the first parameter of those that are kept
};

/// For `positions` new ones of `samples` sequences of up to `room`. Throws tessera::error for a network that cannot.
decoding_network decoding_of(const graph_view& g, int tensor, index_t samples, index_t positions, index_t room);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/net/decoding.inl"
#endif

#include "tessera/base/end_header.inl"
