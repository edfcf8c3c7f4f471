// SPDX-License-Identifier: Apache-2.0
// Strategies designed by hand for networks of sequences: Megatron's sequence parallelism, Ulysses and rings, as values
// and as types. Groups of devices share their sequences, and each group has a share of the samples.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/by_hand/megatron.hpp"
#include "tessera/strategy/typed_strategy.hpp"

namespace tessera::search {

/// How devices share a sequence.
enum class sequence_sharing : std::uint8_t {
    megatron_sp, ///< products by channels and attention by heads, what lies between them by positions
    ulysses,     ///< everything by positions, attention by heads
    ring,        ///< everything by positions, keys and values of attention round a ring
    zigzag,      ///< the same, of twice as many pieces: device i has piece i from either end
};

constexpr bool is_ring(sequence_sharing how) {
    return how == sequence_sharing::ring || how == sequence_sharing::zigzag;
}

namespace detail {

/// The loop of heads of an operator that lets the positions of a sequence meet head by head (attention, or one of its
/// two products): other than the samples', in the index of the output and of every input that gradients flow to. -1: it
/// has none.
constexpr int heads_loop(const description& d) {
    int inputs = 0;
    bool sums = false;
    for (const operand& o : d.operands) {
        inputs += o.kind == operand_kind::input && o.differentiable ? 1 : 0;
    }
    for (int l = 0; l < d.loops.size(); ++l) {
        sums = sums || !depends(d.operands[d.output()], l);
    }
    if (inputs < 2 || !sums || d.facts.loss) {
        return -1;
    }
    for (int l = 0; l < d.loops.size(); ++l) {
        bool everywhere = d.loops[l].name != loop_name::sample && depends(d.operands[d.output()], l);
        for (const operand& o : d.operands) {
            everywhere = everywhere && (o.kind != operand_kind::input || !o.differentiable || depends(o, l));
        }
        if (everywhere) {
            return l;
        }
    }
    return -1;
}

/// The loop that alone indexes a dimension of an operand, step by step; -1: there is none.
constexpr int loop_along(const operand& o, int dimension) {
    const affine& x = o.dim[dimension];
    return !x.all && x.terms.size() == 1 && x.terms[0].coefficient == 1 ? x.terms[0].loop : -1;
}

/// Splits loop `l` between the `share` devices of every group, and the samples between groups.
constexpr configuration share_loop(const description& d, int groups, int l, int share) {
    configuration c;
    const int n = d.find_loop(loop_name::sample);
    if (n >= 0 && n != l && groups > 1 && splittable(d, n)) {
        split_loop(c, d, n, groups);
    }
    split_loop(c, d, l, share);
    return c;
}

/// True where a loop can be shared by `share` devices, each having some of it.
constexpr bool can_share(const description& d, int l, int share) {
    return l >= 0 && share > 1 && d.loops[l].extent >= share && splittable(d, l);
}

/// What of a tensor a device of a group has.
enum held_part : int { has_any, has_channels, has_heads };

struct sequence_sharer {
    const graph_view& g;
    int groups = 1;
    int share = 1;
    configuration* all = nullptr;
    int* held = nullptr;  ///< of every tensor: held_part
    int* leads = nullptr; ///< of every tensor: divided channels of it go into what takes them

    constexpr bool inputs_are(const op_node& op, const description& d, held_part what) const {
        bool any = false;
        for (const operand& o : d.operands) {
            if (o.kind == operand_kind::input && o.differentiable && o.slot < op.inputs.size()) {
                any = true;
                if (held[op.inputs[o.slot]] != what) {
                    return false;
                }
            }
        }
        return any;
    }
    /// The loop along the channels of what computes channel by channel; -1: it does not.
    constexpr int channels_loop(const description& d) const {
        const operand& out = d.operands[d.output()];
        const affine& last = out.dim[out.extents.rank - 1];
        const int l = d.find_loop(loop_name::channel);
        bool own = l >= 0 && out.extents.rank == 3 && splittable(d, l) && role(d, l) != loop_role::coupled;
        bool there = false;
        for (const affine::term& t : last.terms) {
            there = there || t.loop == l;
        }
        for (const operand& o : d.operands) {
            own = own && (o.kind != operand_kind::input || !o.differentiable || depends(o, l));
        }
        return own && there && !multiplies_by_matrix(d) ? l : -1;
    }
    /// From the end of the network to its begin.
    constexpr void note_what_leads() {
        for (int op = g.op_count; op-- > 0;) {
            const description d = g.describe(op);
            const bool takes = (multiplies_by_matrix(d) && d.find_loop(loop_name::position) >= 0) ||
                               heads_loop(d) >= 0 || d.facts.loss ||
                               (channels_loop(d) >= 0 && leads[g.ops[op].output] != 0);
            for (const int t : g.ops[op].inputs) {
                leads[t] = leads[t] != 0 || takes ? 1 : 0;
            }
        }
    }
    constexpr bool share_along(int op, const description& d, int l, held_part what) {
        if (!can_share(d, l, share)) {
            return false;
        }
        all[op] = share_loop(d, groups, l, share);
        held[g.ops[op].output] = what;
        return true;
    }
    /// Attention, and what works on its scores [samples, heads, ...].
    constexpr bool by_heads(int op, const description& d) {
        const int rank = d.operands[d.output()].extents.rank;
        if (share_along(op, d, heads_loop(d), rank == 4 ? has_heads : has_channels)) {
            return true;
        }
        for (const operand& o : d.operands) {
            if (o.kind == operand_kind::input && o.extents.rank == 4 && o.slot < g.ops[op].inputs.size() &&
                held[g.ops[op].inputs[o.slot]] == has_heads) {
                const int l = loop_along(o, 1);
                return l >= 0 && role(d, l) != loop_role::coupled &&
                       share_along(op, d, l, rank == 4 ? has_heads : has_any);
            }
        }
        return false;
    }
    constexpr bool by_products(int op, const description& d) {
        const int positions = d.find_loop(loop_name::position);
        const op_node& node = g.ops[op];
        const bool divided = inputs_are(node, d, has_channels);
        if (multiplies_by_matrix(d)) {
            return positions >= 0 && (divided ? share_along(op, d, d.find_loop(loop_name::reduction), has_any)
                                              : leads[node.output] != 0 &&
                                                    share_along(op, d, d.find_loop(loop_name::channel), has_channels));
        }
        if (looks_up(d) && positions >= 0) { // of tokens; the sum over words goes to where positions are
            return share_along(op, d, d.find_loop(loop_name::reduction), has_any);
        }
        if (d.facts.loss) {
            return held[node.inputs[0]] == has_channels && share_along(op, d, d.find_loop(loop_name::channel), has_any);
        }
        return divided && share_along(op, d, channels_loop(d), has_channels);
    }
    /// Positions and keys in `pieces`, which round a ring lie on `share` devices.
    constexpr void by_pieces(int op, const description& d, int pieces) {
        const int l = d.find_loop(loop_name::position);
        if (!can_share(d, l, pieces)) {
            all[op] = split_by(d, {{loop_name::sample, groups * share}});
            return;
        }
        all[op] = share_loop(d, groups, l, pieces);
        all[op].ring = d.facts.merges;
        if (pieces > share) {
            all[op].devices = 0; // of place_pieces()
        }
    }
    constexpr bool by_positions(int op, const description& d) {
        return share_along(op, d, d.find_loop(loop_name::position), has_any);
    }
};

/// How many numbers share_sequences() notes.
constexpr int notes_of_sharing(int ops, int tensors) { return ops + 3 * tensors; }

/// The configurations of all operators. `notes` are zeros, as many as notes_of_sharing() says.
constexpr void share_sequences(const graph_view& g, sequence_sharing how, int groups, int share, configuration* all,
                               int* notes) {
    sequence_sharer x{g, groups, share, all, notes, notes + g.tensor_count};
    const int pieces = how == sequence_sharing::zigzag ? 2 * share : share;
    for (int op = 0; op < g.op_count && is_ring(how); ++op) {
        x.by_pieces(op, g.describe(op), pieces);
    }
    for (int op = 0; op < g.op_count && how == sequence_sharing::ulysses; ++op) {
        const description d = g.describe(op);
        if (!x.by_heads(op, d) && !x.by_positions(op, d)) {
            all[op] = split_by(d, {{loop_name::sample, groups * share}});
        }
    }
    if (how == sequence_sharing::ulysses || is_ring(how)) {
        return;
    }
    x.note_what_leads();
    pair_products(g, groups, share, all, notes + 2 * g.tensor_count);
    bool any = false;
    for (int op = 0; op < g.op_count; ++op) {
        const description d = g.describe(op);
        any = any || can_share(d, d.find_loop(loop_name::position), share);
    }
    for (int op = 0; op < g.op_count && any; ++op) {
        const description d = g.describe(op);
        if (!x.by_heads(op, d) && !x.by_products(op, d) && !x.by_positions(op, d) && all[op].shards() <= groups) {
            all[op].stride = share; // with its group
        }
    }
}

/// Devices that share a sequence divide the heads of all its attention.
constexpr problem check_heads(const graph_view& g, int share) {
    for (int op = 0; op < g.op_count; ++op) {
        const description d = g.describe(op);
        const int l = heads_loop(d);
        if (l >= 0 && share > d.loops[l].extent) {
            return tessera::detail::broken(rule::more_devices_than_heads, op, -1, share, d.loops[l].extent);
        }
        if (l >= 0 && (share < 1 || d.loops[l].extent % share != 0)) {
            return tessera::detail::broken(rule::devices_do_not_divide_heads, op, -1, share, d.loops[l].extent);
        }
    }
    return {};
}

/// Numbers that a strategy has besides its configurations: devices of the pieces of every group, which zigzag places.
constexpr int devices_of_pieces(sequence_sharing how, int groups, int share) {
    return how == sequence_sharing::zigzag ? 2 * share * groups : 0;
}
constexpr void place_pieces(sequence_sharing how, int groups, int share, index_t* pool) {
    const int pieces = 2 * share;
    for (int i = 0; i < devices_of_pieces(how, groups, share); ++i) {
        const int piece = i % pieces;
        pool[i] = i / pieces * share + (piece < share ? piece : pieces - 1 - piece);
    }
}

/// Devices that share a sequence divide the heads of all its attention; in a ring each has a piece of its positions, or
/// two.
constexpr problem check_sharing(const graph_view& g, sequence_sharing how, int share) {
    const int pieces = how == sequence_sharing::zigzag ? 2 * share : share;
    for (int op = 0; op < g.op_count && is_ring(how); ++op) {
        const description d = g.describe(op);
        const int l = d.find_loop(loop_name::position);
        if (d.facts.merges && (share < 1 || pieces > d.loops[l].extent)) {
            return tessera::detail::broken(share < 1 ? rule::degree_is_zero : rule::degree_exceeds_extent, op,
                                           static_cast<int>(loop_name::position), pieces, d.loops[l].extent);
        }
    }
    return is_ring(how) ? problem{} : check_heads(g, share);
}

template <class Net, index_t Batch, int Groups, int Share, sequence_sharing How>
constexpr auto make_shared_sequences() {
    constexpr auto counts = tessera::detail::counts_of<Net, Batch>;
    tessera::detail::strategy_storage<counts.ops, devices_of_pieces(How, Groups, Share < 0 ? 0 : Share)> s;
    const graph_view g = describe<Net, Batch>();
    s.count = g.op_count;
    s.numbers.sums_first = true;
    s.refused = check_sharing(g, How, Share);
    if (!s.refused) {
        int notes[to_size(notes_of_sharing(counts.ops, counts.tensors))]{};
        share_sequences(g, How, Groups, Share, s.ops, notes);
        s.pool_size = devices_of_pieces(How, Groups, Share);
        place_pieces(How, Groups, Share, s.pool);
        s.refused = check_strategy(g, s.view(), Groups * Share);
    }
    return s;
}

} // namespace detail

/// Devices of `groups` groups of `share` share sequences. Throws tessera::error where those of a group do not divide the
/// heads, or have fewer positions than pieces of a ring.
strategy share_sequences(const graph_view& g, sequence_sharing how, int groups, int share);

/// Megatron's sequence parallelism (Korthikanti et al. 2022, arXiv 2205.05198, section 4.2.2) within `groups` groups of
/// `share` devices, each group with a share of the samples. Linear layers come in pairs, the first divided by its
/// outputs and the second by its inputs, attention by heads between them; embeddings and the output layer with its loss
/// are divided by words; norms, dropout, residuals and all others by positions. An operator without positions is split
/// as megatron() does it.
///
/// In a block of attention and a pair of linear layers, b samples of s positions of h channels in a group of t devices,
/// forward 2 all-gathers and 2 reduce-scatters take the places of 2 all-reduces, backward too (sums_first: queries, keys
/// and values are one). Each moves (t - 1) b s h numbers, t devices together, and an all-reduce in a ring moves
/// 2 (t - 1) b s h: the volume is that of megatron(). What norms, dropout and residuals keep is a t-th. What was
/// gathered for a product is kept until its weights' gradient, not gathered anew. Gradients of norms' parameters and of
/// biases behind sums are sums over positions, which all devices of a group share: small all-reduces of their own.
///
/// Throws tessera::error where the devices of a group do not divide the heads.
strategy megatron_sp(const graph_view& g, int groups, int share);

/// Ulysses (Jacobs et al. 2023, arXiv 2309.14509): everything by positions, with whole parameters on every device, but
/// attention by heads. Queries, keys and values, b samples of s positions of h channels, come to it by one all-to-all
/// each, and its output leaves by a fourth; backward there are 4 more. Of the b s h / t numbers that a device has of
/// each it sends (t - 1) / t: all t devices of a group together 4 (t - 1) / t b s h forward, and as many backward.
///
/// Throws tessera::error where there are more devices in a group than heads, or they do not divide the heads.
strategy ulysses(const graph_view& g, int groups, int share);

/// Ring attention (Liu et al. 2023, arXiv 2310.01889): everything by positions, with whole parameters on every device,
/// and the keys and values of attention round a ring: a device holds its own piece of them, the one that it computes with
/// and the next, never all. Of N samples of T positions with keys and values of G heads of width W, forward each of t
/// devices sends 2 (t - 1) / t N T G W numbers; backward keys and values go round once more, and as many numbers of
/// their gradients. What a mask or a window hides from all queries of a device is neither sent to it nor computed: of a
/// causal mask half remains, of all devices together. More devices may share a sequence than it has heads.
///
/// Throws tessera::error where there are more devices in a group than positions.
strategy ring_attention(const graph_view& g, int groups, int share);

/// The same with positions in 2 t pieces, of which device i has i and 2 t - 1 - i, as Llama 3 has them (Grattafiori et al.
/// 2024, arXiv 2407.21783, section 3.3.2): under a causal mask every device has as much to compute in every step. There
/// the first t pieces of keys go to all devices, of the others device i's to the i before it: 3/4 of what is sent
/// without a mask.
///
/// Throws tessera::error where there are not as many positions as pieces.
strategy zigzag_attention(const graph_view& g, int groups, int share);

/// As many devices of a node as can share a sequence: a divisor of theirs, and of the heads unless in a ring.
int most_that_share(const graph_view& g, int per_node, sequence_sharing how = sequence_sharing::ulysses);

/// One of these strategies as a type like strategy_of: Groups groups of Share devices.
template <class Net, index_t Batch, int Groups, int Share, sequence_sharing How>
struct static_shared_sequences {
    using network = Net;
    static constexpr int devices = Groups * Share;
    static constexpr index_t batch = Batch;
    static constexpr auto stored = detail::make_shared_sequences<Net, Batch, Groups, Share, How>();
    static constexpr bool test() {
        if constexpr (!check_network<Net, Batch>::test()) {
            return false;
        } else if constexpr (stored.refused.broken == rule::none) {
            return true;
        } else {
            constexpr problem p = stored.refused;
            constexpr int place = tessera::detail::storage_of<Net, Batch>.misnumbered ? -1 : p.op;
            return refuse<p.broken, layer<typename layer_at<Net, place>::type>, found<p.found>, needed<p.needed>>();
        }
    }
    static constexpr bool ok = test();
    static constexpr strategy_view view() {
        if constexpr (test()) {
            return stored.view();
        } else {
            return {};
        }
    }
};

} // namespace tessera::search

namespace tessera {

/// Megatron's sequence parallelism as a type: Groups groups of Share devices, see search::megatron_sp().
template <class Net, index_t Batch, int Share, int Groups = 1>
using megatron_sp = search::static_shared_sequences<Net, Batch, Groups, Share, search::sequence_sharing::megatron_sp>;

/// Ulysses as a type: Groups groups of Share devices, see search::ulysses().
template <class Net, index_t Batch, int Share, int Groups = 1>
using ulysses = search::static_shared_sequences<Net, Batch, Groups, Share, search::sequence_sharing::ulysses>;

/// Ring attention as a type: Groups groups of Share devices, see search::ring_attention().
template <class Net, index_t Batch, int Share, int Groups = 1>
using ring_attention = search::static_shared_sequences<Net, Batch, Groups, Share, search::sequence_sharing::ring>;

/// Ring attention of zigzag pieces as a type: Groups groups of Share devices, see search::zigzag_attention().
template <class Net, index_t Batch, int Share, int Groups = 1>
using zigzag_attention = search::static_shared_sequences<Net, Batch, Groups, Share, search::sequence_sharing::zigzag>;

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/search/by_hand/sequence_parallel.inl"
#endif

#include "tessera/base/end_header.inl"
