// SPDX-License-Identifier: Apache-2.0
// OptCNN's additive cost model (ICML 2018, section 4): the step time is the sum over operators of t_C + t_S and over
// edges of t_X, nothing overlapping. All times are whole nanoseconds, so that tables built by the compiler equal those
// built at run time.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/layout/redistribute.hpp"
#include "tessera/machine/machine.hpp"
#include "tessera/strategy/pieces.hpp"
#include "tessera/strategy/strategy.hpp"

namespace tessera::cost {

/// What the model needs to know of an operator.
struct op_model {
    description d;
    bool view = false;         ///< renames indices only: takes no time
    bool copy = false;         ///< reads as much as it writes, whichever inputs that comes from
    bool loss = false;         ///< its output is reduced here, not by a consumer
    std::uint32_t data = 0;    ///< operands that are inputs of the network: present wherever needed, without gradient
    std::uint32_t trained = 0; ///< operands whose gradients are synchronized
};

constexpr op_model model_of(const graph_view& g, int op) {
    op_model m;
    m.d = g.describe(op);
    m.view = m.d.facts.view;
    m.copy = joins_inputs(m.d);
    m.loss = g.is_loss(op);
    for (int o = 0; o < m.d.operands.size(); ++o) {
        const operand& x = m.d.operands[o];
        if (x.kind == operand_kind::input && g.tensors[g.ops[op].inputs[x.slot]].producer < 0) {
            m.data |= bit(o);
        }
        if (x.kind == operand_kind::parameter && g.parameters[g.ops[op].parameters[x.slot]].trained) {
            m.trained |= bit(o);
        }
    }
    return m;
}

namespace detail {

/// How many pieces the shards cut dimension `k` of an operand into, counting every combination of the loops in its
/// index.
constexpr int pieces_along(const operand& o, int k, const configuration& c) {
    int n = 1;
    for (const affine::term& t : o.dim[k].terms) {
        n *= c.degree[t.loop];
    }
    return n;
}

/// Piece `number` of dimension `k`, the last loop of the index varying fastest. Pieces of inputs overlap where windows
/// do.
constexpr interval piece_along(const description& d, int which, int k, const configuration& c, const index_t* pool,
                               int number) {
    const operand& o = d.operands[which];
    const interval full{0, o.extents.extent[k]};
    const affine& a = o.dim[k];
    if (a.all) {
        return full;
    }
    index_t lo = a.offset;
    index_t hi = a.offset;
    for (int i = a.terms.count - 1; i >= 0; --i) {
        const affine::term& t = a.terms.items[i];
        const interval r = range_of(c, pool, d, t.loop, number % c.degree[t.loop]);
        number /= c.degree[t.loop];
        if (r.empty()) {
            return {0, 0};
        }
        const index_t first = t.coefficient * r.begin;
        const index_t last = t.coefficient * (r.end - 1);
        lo += first < last ? first : last;
        hi += first < last ? last : first;
    }
    return intersect(interval{lo, hi + 1}, full);
}

/// Elements in the largest piece of an operand: the largest along every dimension.
constexpr index_t largest_piece(const description& d, int which, const configuration& c, const index_t* pool) {
    index_t volume = 1;
    for (int k = 0; k < d.operands[which].extents.rank; ++k) {
        const int pieces = pieces_along(d.operands[which], k, c);
        index_t largest = 0;
        for (int i = 0; i < pieces; ++i) {
            const index_t size = piece_along(d, which, k, c, pool, i).size();
            largest = size > largest ? size : largest;
        }
        volume *= largest;
    }
    return volume;
}

constexpr index_t larger(index_t a, index_t b) { return a > b ? a : b; }

/// A ring all-reduce of `bytes` among `members`: 2(m-1) rounds, each of bytes/m.
constexpr index_t ring_all_reduce(index_t bytes, int members, const machine& on) {
    return members < 2 || bytes == 0
               ? 0
               : 2 * (members - 1) * (on.link_latency + bytes * 1000 / (members * on.link_megabytes));
}

} // namespace detail

namespace detail {

/// Forward and backward of a piece of an operator: its largest range along every loop, and the bytes of every operand.
constexpr index_t passes_time(const op_model& m, const interval (&largest)[max_loops],
                              const index_t (&bytes)[max_operands], const machine& on) {
    const description& d = m.d;
    if (m.view) {
        return 0;
    }
    if (m.copy) {
        return 2 * (on.launch + on.memory_time(2 * bytes[d.output()]));
    }
    std::uint32_t touched = 0;
    for (const nest& n : d.nests) {
        touched |= n.reads | bit(n.write);
    }
    index_t forward = 0;
    for (int o = 0; o < d.operands.count; ++o) {
        forward += has(touched, o) ? bytes[o] : 0;
    }
    index_t backward = 0;
    index_t flops = 0;
    bool to_inputs = false;
    bool to_parameters = false;
    for (int o = 0; o < d.operands.count; ++o) {
        const operand& x = d.operands[o];
        const int k = has(m.data, o) ? -1 : gradient_nest(d, o);
        if (k < 0 || (x.kind == operand_kind::parameter && !has(m.trained, o))) {
            continue;
        }
        to_inputs = to_inputs || x.kind == operand_kind::input;
        to_parameters = to_parameters || x.kind != operand_kind::input;
        backward += bytes[o];
        if (x.additive) {
            continue; // comes along with the weight's gradient
        }
        backward += bytes[d.nests[k].write];
        for (int r = 0; r < d.operands.count; ++r) {
            backward += has(x.gradient_reads, r) ? bytes[r] : 0;
        }
        flops += x.gradient_times * flops_of_nest(d, k, largest);
    }
    const int launches = 1 + (to_inputs ? 1 : 0) + (to_parameters ? 1 : 0);
    return launches * on.launch + larger(on.compute_time(forward_flops(d, largest)), on.memory_time(forward)) +
           larger(on.compute_time(flops), on.memory_time(backward));
}

} // namespace detail

/// t_C: forward and backward time of the operator's largest shard. Each of the two passes takes the longer of its
/// arithmetic at the device's compute rate and its bytes at the memory bandwidth, plus a launch per task (forward,
/// gradients of inputs, gradients of parameters). The largest shard has the largest piece of every operand, which is
/// some shard's where degrees divide and an upper bound elsewhere.
constexpr index_t compute_time(const op_model& m, const configuration& c, const index_t* pool, const machine& on) {
    if (m.view) {
        return 0;
    }
    const description& d = m.d;
    interval largest[max_loops];
    for (int l = 0; l < d.loops.count && !m.copy; ++l) {
        for (int i = 0; i < c.degree[l]; ++i) {
            const index_t size = range_of(c, pool, d, l, i).size();
            largest[l].end = size > largest[l].end ? size : largest[l].end;
        }
    }
    if (d.seen.row >= 0 && !m.copy) { // the last rows see the most columns
        interval& rows = largest[d.seen.row];
        rows = {d.loops[d.seen.row].extent - rows.end, d.loops[d.seen.row].extent};
    }
    index_t bytes[max_operands]{};
    for (int o = 0; o < d.operands.count; ++o) {
        bytes[o] = m.copy && o != d.output() ? 0 : detail::largest_piece(d, o, c, pool) * bytes_of(d.operands[o].type);
    }
    return detail::passes_time(m, largest, bytes, on);
}

/// The same of one shard.
constexpr index_t shard_time(const op_model& m, const shard& s, const machine& on) {
    index_t bytes[max_operands]{};
    for (int o = 0; o < m.d.operands.count; ++o) {
        bytes[o] = region(m.d, o, s.ranges).volume() * bytes_of(m.d.operands[o].type);
    }
    return detail::passes_time(m, s.ranges, bytes, on);
}

/// t_S: synchronization of the gradients of parameters, and the reductions inside the operator that splits of coupled
/// loops cost. Every piece of a parameter is reduced by a ring among its holders (the paper sends it to a parameter
/// server and back: the same 2(m-1)/m of the bytes per holder when every holder serves a share). Copies of one shard
/// have the same gradient, so that replication alone costs nothing. A shared parameter is charged to each of its users,
/// an upper bound. Where every shard of samples takes its `own_statistics` they cost nothing between these.
constexpr index_t synchronization_time(const op_model& m, const configuration& c, const index_t* pool,
                                       const machine& on, bool own_statistics = false) {
    const description& d = m.d;
    index_t total = 0;
    for (int o = 0; o < d.operands.count; ++o) {
        const operand& x = d.operands[o];
        if (!has(m.trained, o)) {
            continue;
        }
        const int k = gradient_nest(d, o);
        const std::uint32_t first_only = x.additive ? reduced_loops(d, k) : 0;
        int contributions = 1;
        for (int l = 0; l < d.loops.count; ++l) {
            contributions *= has(first_only, l) || depends(x, l) ? 1 : c.degree[l];
        }
        if (contributions > 1) {
            const index_t bytes = detail::largest_piece(d, o, c, pool) * bytes_of(x.type);
            total += detail::ring_all_reduce(bytes, contributions * c.replicate, on);
        }
    }
    for (int k = 0; k < d.nests.count; ++k) {
        const int written = d.nests[k].write;
        const operand& x = d.operands[written];
        const bool inside = x.kind == operand_kind::intermediate;
        if (!inside && !m.loss) {
            continue;
        }
        const std::uint32_t reduced = reduced_loops(d, k);
        int parts = 1;
        for (int l = 0; l < d.loops.count; ++l) {
            parts *= has(reduced, l) && !(inside && own_statistics && l == statistics_loop(d)) ? c.degree[l] : 1;
        }
        if (parts > 1) {
            const index_t bytes = detail::largest_piece(d, written, c, pool) * bytes_of(x.type);
            // A gradient that flows through the intermediate leaves partial sums once more.
            total += (inside && x.differentiable ? 2 : 1) * detail::ring_all_reduce(bytes, parts, on);
        }
    }
    return total;
}

/// The most bytes that one device receives over an edge, in forward and in backward.
struct received {
    index_t forward = 0;
    index_t backward = 0;

    constexpr index_t time(const machine& on) const { return on.transfer_time(forward) + on.transfer_time(backward); }
};

/// Bytes over the edge from `producer` to operand `input` of `consumer`, for any placement: what the redistribution of
/// the tensor forward, and of its gradient backward, brings to the device that receives most. Shards of one device that
/// need the same are counted each.
template <class Description>
constexpr received bytes_between(const Description& producer, const configuration& from, const Description& consumer,
                                 int input, const configuration& to, const index_t* pool, bool gradient) {
    const int out = producer.output();
    const index_t element_bytes = bytes_of(producer.operands[out].type);
    const auto most = [&](operand_tensor what, bool back) {
        const auto a = pieces_of(producer, out, from, pool, what);
        const auto b = pieces_of(consumer, input, to, pool, what);
        return back ? move_pieces(b, a, element_bytes).worst_bytes
                    : move_pieces(a, b, element_bytes, to.partial > 1).worst_bytes;
    };
    return {most(operand_tensor::value, false), gradient ? most(operand_tensor::gradient, true) : 0};
}

/// The cost of a strategy on a machine, in nanoseconds per step.
template <class Graph>
constexpr index_t total_cost(const Graph& g, const strategy_view& s, const machine& on) {
    index_t total = 0;
    for (int op = 0; op < g.op_count; ++op) {
        const op_model m = model_of(g, op);
        total += compute_time(m, s.ops[op], s.pool, on) +
                 synchronization_time(m, s.ops[op], s.pool, on, s.statistics == statistics_over::replica);
        for (int k = 0; k < g.ops[op].inputs.size(); ++k) {
            const int producer = g.tensors[g.ops[op].inputs[k]].producer;
            if (producer < 0) {
                continue;
            }
            const int input = m.d.find_operand(operand_kind::input, k);
            total += bytes_between(g.describe(producer), s.ops[producer], m.d, input, s.ops[op], s.pool,
                                   m.d.operands[input].differentiable)
                         .time(on);
        }
    }
    return total;
}

/// Throws tessera::error for a strategy that the network or the machine does not allow.
template <class Graph>
index_t total_cost(const Graph& g, const strategy& s, const machine& on) {
    require(g, s.view(), on.devices);
    return total_cost(g, s.view(), on);
}

} // namespace tessera::cost

#include "tessera/base/end_header.inl"
