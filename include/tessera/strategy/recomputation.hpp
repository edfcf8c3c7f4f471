// SPDX-License-Identifier: Apache-2.0
// Which operators are computed again for backward, by rules that people use: cheap ones that save memory, or blocks of
// which only the last outputs are kept.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/net/repeats.hpp"
#include "tessera/strategy/configuration.hpp"

namespace tessera {

/// A rule by which operators recompute.
struct recompute_rule {
    enum class kind : std::uint8_t {
        none,      ///< everything that backward reads is kept
        selective, ///< norms, activations, softmax, products of two activations: what is cheap, made from what is kept
        blocks,    ///< only what leaves a block is kept
    };
    kind which = kind::none;
    int every = 1; ///< so many blocks are one

    friend constexpr bool operator==(const recompute_rule&, const recompute_rule&) = default;
};

namespace detail {

/// A product with a table or a matrix of weights: not cheap, and blocks are counted by them.
constexpr bool has_matrix(const graph_view& g, int op) {
    bool any = false;
    for (const int p : g.ops[op].parameters) {
        any = any || (g.parameters[p].extents.rank > 1 && !g.parameters[p].state);
    }
    return any;
}

/// An operator whose gradients compute anew what it does not keep, as those of attention do: little can be saved.
constexpr bool computes_anew(const description& d) {
    bool any = false;
    for (const operand& o : d.operands) {
        any = any || o.gradient_times > 1;
    }
    return any;
}

/// True where the gradients of an operator read an operand, as far as the operator alone tells.
constexpr bool reads_backward(const graph_view& g, int op, const description& d, int operand) {
    for (int o = 0; o < d.operands.size(); ++o) {
        const tessera::operand& x = d.operands[o];
        const bool flows =
            x.kind == operand_kind::input       ? x.differentiable && g.tensors[g.ops[op].inputs[x.slot]].producer >= 0
            : x.kind == operand_kind::parameter ? g.parameters[g.ops[op].parameters[x.slot]].trained
                                                : x.kind == operand_kind::intermediate && x.differentiable;
        if (flows && has(d.operands[o].gradient_reads, operand)) {
            return true;
        }
    }
    return false;
}

/// True where backward reads a tensor whatever is computed again: its producer does, or an operator that reads it.
constexpr bool is_kept_anyway(const graph_view& g, int tensor) {
    const int producer = g.tensors[tensor].producer;
    if (producer < 0) {
        return true; // an input
    }
    const description own = g.describe(producer);
    if (reads_backward(g, producer, own, own.output())) {
        return true;
    }
    for (int op = producer + 1; op < g.op_count; ++op) {
        for (int k = 0; k < g.ops[op].inputs.size(); ++k) {
            if (g.ops[op].inputs[k] != tensor) {
                continue;
            }
            const description d = g.describe(op);
            if (reads_backward(g, op, d, d.find_operand(operand_kind::input, k))) {
                return true;
            }
        }
    }
    return false;
}

/// (g++ 12 loses numbers in constants where one field of many in an array is written.)
constexpr void set_recompute(configuration& of, bool recompute) {
    configuration c = of;
    c.recompute = recompute;
    of = c;
}

constexpr void recompute_cheap(configuration* ops, const graph_view& g) {
    for (int op = 0; op < g.op_count; ++op) {
        const op_facts& facts = g.facts(op);
        const bool sum = facts.passes_gradient && g.ops[op].inputs.size() > 1; // the trunk that blocks add to
        bool cheap = !has_matrix(g, op) && !g.is_loss(op) && !facts.view && !sum && !computes_anew(g.describe(op));
        for (const int t : g.ops[op].inputs) { // otherwise its input would be kept in its place
            int made = t;
            while (g.tensors[made].producer >= 0 && g.facts(g.tensors[made].producer).view) {
                made = g.ops[g.tensors[made].producer].inputs[0];
            }
            const int producer = g.tensors[made].producer;
            const bool again = producer >= 0 && ops[producer].recompute && ops[producer].stage == ops[op].stage;
            cheap = cheap && (again || is_kept_anyway(g, t) || (made != t && is_kept_anyway(g, made)));
        }
        set_recompute(ops[op], cheap);
    }
}

/// True where a loss is among the operators from `first` to before `last`.
constexpr bool has_loss(const graph_view& g, int first, int last) {
    bool any = false;
    for (int op = first; op < last; ++op) {
        any = any || g.is_loss(op);
    }
    return any;
}

/// The last operator that reads what an operator makes; itself where none does.
constexpr int last_reader(const graph_view& g, int op) {
    int last = op;
    for (int k = op + 1; k < g.op_count; ++k) {
        for (const int t : g.ops[k].inputs) {
            last = t == g.ops[op].output ? k : last;
        }
    }
    return last;
}

/// Operators from `first` to before `last` keep what the others read, and make the rest again; all is kept where a loss
/// is among them.
constexpr void recompute_between(configuration* ops, const graph_view& g, int first, int last) {
    if (has_loss(g, first, last)) {
        return;
    }
    for (int op = first; op < last; ++op) {
        const int reader = last_reader(g, op);
        set_recompute(ops[op], reader > op && reader < last);
    }
}

} // namespace detail

/// The network's repeated blocks, begun where least leads from one to the next: the fewest tensors, of the fewest
/// elements, and rather one that is kept anyway.
constexpr repeated_blocks blocks_to_recompute(const graph_view& g) {
    const repeated_blocks r = find_repeats(g);
    if (r.count < 2) {
        return r;
    }
    index_t least = 0;
    int best = 0;
    for (int i = 0; i < r.length; ++i) { // a block ends before operator r.first + r.length + i
        const int end = r.first + r.length + i;
        index_t tensors = 0;
        index_t elements = 0;
        index_t others = 0; // which nothing else keeps
        for (int op = end - r.length; op < end; ++op) {
            if (detail::last_reader(g, op) >= end) {
                ++tensors;
                elements += g.output_of(op).extents.volume();
                others += detail::is_kept_anyway(g, g.ops[op].output) ? 0 : 1;
            }
        }
        const index_t cost = (tensors << 52) + (elements << 1) + (others > 0 ? 1 : 0);
        if (i == 0 || cost < least) {
            least = cost;
            best = i;
        }
    }
    repeated_blocks x = r;
    x.first = r.first + best - (best > 0 && r.first + best >= r.length ? r.length : 0);
    x.count = (r.end() - x.first) / r.length;
    while (x.end() + r.length <= g.op_count && detail::repeats_after(g, x.end() - 1, r.length)) {
        ++x.count;
    }
    return x;
}

/// Says of every operator whether it recomputes. Blocks are those of blocks_to_recompute(), `r`; what lies before and
/// behind them is cut where one tensor alone leads on and there have been two products with weights, or after four. They
/// end where a stage does. What the loss is computed from is kept: backward begins with it.
constexpr void recompute_by(const recompute_rule& how, configuration* ops, const graph_view& g,
                            const repeated_blocks& r) {
    for (int op = 0; op < g.op_count; ++op) {
        detail::set_recompute(ops[op], false);
    }
    if (how.which == recompute_rule::kind::selective) {
        detail::recompute_cheap(ops, g);
    }
    if (how.which != recompute_rule::kind::blocks) {
        return;
    }
    int begin = 0;
    int blocks = 0;
    int products = 0;
    for (int op = 0; op < g.op_count; ++op) {
        const bool inside = r.count > 1 && op >= r.first && op < r.end();
        const bool before = r.count > 1 && op + 1 == r.first;
        products += detail::has_matrix(g, op) ? 1 : 0;
        int leads_on = 0;
        for (int k = begin; k <= op && !inside && products >= 2; ++k) {
            leads_on += detail::last_reader(g, k) > op ? 1 : 0;
        }
        const bool ends = before || (inside ? (op + 1 - r.first) % r.length == 0 : products >= (leads_on == 1 ? 2 : 4));
        const bool stage_ends = op + 1 == g.op_count || ops[op + 1].stage != ops[op].stage;
        blocks += ends ? 1 : 0;
        products = ends ? 0 : products;
        if (stage_ends || before || (ends && blocks >= how.every)) {
            detail::recompute_between(ops, g, begin, op + 1);
            begin = op + 1;
            blocks = products = 0;
        }
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
