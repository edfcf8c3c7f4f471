// SPDX-License-Identifier: Apache-2.0
// What follows from an operator's description alone, by interval analysis: roles, legal splits, regions, partial
// results, gradient reductions, FLOPs, bytes.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/records.hpp"

namespace tessera {

/// What splitting a loop means (SOAP of FlexFlow, section 4, plus reduction and coupled).
enum class loop_role : std::uint8_t {
    sample,    ///< divides the samples; parameters are replicated
    attribute, ///< divides the output without touching parameters
    parameter, ///< divides the output and the parameters
    reduction, ///< divides a sum: every shard leaves a partial result of the whole output
    coupled,   ///< divides the output and an inner reduction, which then needs a reduction of its own
};

constexpr const char* to_text(loop_role role) {
    constexpr const char* names[] = {"sample", "attribute", "parameter", "reduction", "coupled"};
    return names[static_cast<int>(role)];
}

/// True where the index of dimension `d` of the operand depends on the loop.
constexpr bool depends(const operand& o, int loop_index) {
    for (int d = 0; d < o.extents.rank; ++d) {
        for (const affine::term& t : o.dim[d].terms) {
            if (t.loop == loop_index) {
                return true;
            }
        }
    }
    return false;
}

/// Loops of nest `k` that are not in the index of what it writes.
constexpr std::uint32_t reduced_loops(const description& d, int k) {
    std::uint32_t mask = 0;
    for (int l = 0; l < d.loops.size(); ++l) {
        if (has(d.nests[k].loops, l) && !depends(d.operands[d.nests[k].write], l)) {
            mask |= bit(l);
        }
    }
    return mask;
}

constexpr loop_role role(const description& d, int loop_index) {
    const operand& out = d.operands[d.output()];
    bool in_parameter = false;
    bool inner_reduction = false;
    for (const operand& o : d.operands) {
        in_parameter = in_parameter || (o.kind == operand_kind::parameter && depends(o, loop_index));
    }
    for (int k = 0; k + 1 < d.nests.size(); ++k) {
        inner_reduction = inner_reduction || has(reduced_loops(d, k), loop_index);
    }
    if (inner_reduction) {
        return loop_role::coupled;
    }
    if (!depends(out, loop_index)) {
        return loop_role::reduction;
    }
    if (in_parameter) {
        return loop_role::parameter;
    }
    return d.loops[loop_index].name == loop_name::sample ? loop_role::sample : loop_role::attribute;
}

/// The loop of samples, where a nest before the last one reduces it; -1: none does.
constexpr int inner_sample_loop(const description& d) {
    const int l = d.find_loop(loop_name::sample);
    for (int k = 0; l >= 0 && k + 1 < d.nests.size(); ++k) {
        if (has(reduced_loops(d, k), l)) {
            return l;
        }
    }
    return -1;
}

/// The loop of samples of an operator that takes statistics over them (batch norm), of a replica or a micro-batch where
/// a strategy says so; -1 of all others. A loss takes none: what it sums over samples is always that of the whole
/// batch.
constexpr int statistics_loop(const description& d) { return d.facts.loss ? -1 : inner_sample_loop(d); }

/// Whether a loss puts the samples of a batch together before it says what each loses: it divides by what rows weigh,
/// or compares rows with each other.
constexpr bool joins_samples(const description& d) {
    const int samples = d.find_loop(loop_name::sample);
    bool reads_others = false;
    for (const operand& o : d.operands) {
        reads_others = reads_others || (o.kind == operand_kind::input && !depends(o, samples));
    }
    return d.facts.loss && (reads_others || inner_sample_loop(d) >= 0);
}

/// True where shards of the loop write boxes that neither overlap nor leave gaps: in every dimension of every written
/// operand that it indexes together with other loops, it must be the major one and the others must fill exactly less
/// than one of its steps.
constexpr bool splittable(const description& d, int loop_index) {
    if (d.loops[loop_index].whole || d.loops[loop_index].extent < 2) {
        return false;
    }
    for (const nest& n : d.nests) {
        const operand& out = d.operands[n.write];
        for (int k = 0; k < out.extents.rank; ++k) {
            index_t own = 0;
            index_t inner = 0;
            bool major = true;
            for (const affine::term& t : out.dim[k].terms) {
                if (t.loop == loop_index) {
                    own = t.coefficient;
                }
            }
            if (own == 0) {
                continue;
            }
            for (const affine::term& t : out.dim[k].terms) {
                const index_t extent = d.loops[t.loop].extent;
                if (t.loop == loop_index || extent == 1) {
                    continue;
                }
                major = major && t.coefficient < own;
                inner += (extent - 1) * t.coefficient;
            }
            if (!major || inner + 1 > own) {
                return false;
            }
        }
    }
    return true;
}

/// All loops from end to end.
struct loop_ranges {
    interval range[max_loops]{};

    constexpr explicit loop_ranges(const description& d) {
        for (int l = 0; l < d.loops.size(); ++l) {
            range[l] = {0, d.loops[l].extent};
        }
    }
};

/// The region of an operand touched while loop l runs over ranges[l]: in each dimension the interval image of the
/// affine index, clamped to the tensor (what lies outside is padding). Exact for contiguous shards; with gaps (stride >
/// window, dilation) the smallest box around it.
constexpr box region(const description& d, int which, const interval* ranges) {
    const operand& o = d.operands[which];
    box b{o.extents.rank, {}};
    for (int k = 0; k < o.extents.rank; ++k) {
        const interval full{0, o.extents[k]};
        if (o.dim[k].all) {
            b.dim[k] = full;
            continue;
        }
        index_t lo = o.dim[k].offset;
        index_t hi = o.dim[k].offset;
        bool none = false;
        for (const affine::term& t : o.dim[k].terms) {
            const interval& r = ranges[t.loop];
            none = none || r.empty();
            const index_t first = t.coefficient * r.begin;
            const index_t last = t.coefficient * (r.end - 1);
            lo += first < last ? first : last;
            hi += first < last ? last : first;
        }
        b.dim[k] = none ? interval{0, 0} : intersect(interval{lo, hi + 1}, full);
    }
    return b;
}

/// The nest in whose reverse the gradient of an operand is produced: the first one that reads it, so that an input that
/// several nests read gets its gradient once, when everything it needs is there. -1 if no gradient reaches it.
constexpr int gradient_nest(const description& d, int which) {
    const operand& o = d.operands[which];
    if (!o.differentiable || o.kind == operand_kind::output || o.kind == operand_kind::state) {
        return -1;
    }
    for (int k = 0; k < d.nests.size(); ++k) {
        if (has(d.nests[k].reads, which)) {
            return k;
        }
    }
    return -1;
}

/// Operands whose gradient the reverse of nest `k` produces: inputs, or parameters and intermediates.
constexpr std::uint32_t gradients_of(const description& d, int k, bool inputs) {
    std::uint32_t mask = 0;
    for (int o = 0; o < d.operands.size(); ++o) {
        if (gradient_nest(d, o) == k && (d.operands[o].kind == operand_kind::input) == inputs) {
            mask |= bit(o);
        }
    }
    return mask;
}

/// Loops over which the gradient of an operand is summed: those of the nests that read it that do not index it. Where
/// one of them is split, the shards hold partial gradients (for a weight under a split of samples: data parallelism's
/// all-reduce).
constexpr std::uint32_t gradient_reduced_loops(const description& d, int which) {
    std::uint32_t loops = 0;
    for (int k = 0; gradient_nest(d, which) >= 0 && k < d.nests.size(); ++k) {
        loops |= has(d.nests[k].reads, which) ? d.nests[k].loops : 0;
    }
    std::uint32_t mask = 0;
    for (int l = 0; l < d.loops.size(); ++l) {
        if (has(loops, l) && !depends(d.operands[which], l)) {
            mask |= bit(l);
        }
    }
    return mask;
}

/// How many points (row, column) of two ranges have column - row <= most: a sum of one term for each row, of which those
/// that are neither 0 nor the whole range follow each other by one.
constexpr index_t points_below(const interval& rows, const interval& columns, index_t most) {
    const index_t none_until = columns.begin - most; // the first row that sees a column
    const index_t all_from = columns.end - 1 - most; // the first row that sees all
    const index_t begin = rows.begin > none_until ? rows.begin : none_until;
    const index_t whole = rows.begin > all_from ? rows.begin : all_from;
    const index_t end = rows.end < whole ? rows.end : whole;
    index_t points = rows.end > whole ? (rows.end - whole) * columns.size() : 0;
    if (end > begin) {
        const index_t first = begin + most + 1 - columns.begin;
        points += (end - begin) * (2 * first + end - begin - 1) / 2;
    }
    return points;
}

/// The points of two ranges that count.
constexpr index_t points_of(const diagonal_band& b, const interval* ranges) {
    const interval& rows = ranges[b.row];
    const interval& columns = ranges[b.column];
    return points_below(rows, columns, b.last) - points_below(rows, columns, b.first - 1);
}

/// Floating-point operations of a nest over `ranges`.
constexpr index_t flops_of_nest(const description& d, int k, const interval* ranges) {
    const std::uint32_t loops = d.nests[k].loops;
    const bool is_band = d.seen.row >= 0 && has(loops, d.seen.row) && has(loops, d.seen.column);
    index_t flops = d.nests[k].flops * (is_band ? points_of(d.seen, ranges) : 1);
    for (int l = 0; l < d.loops.size(); ++l) {
        const bool is_counted = is_band && (l == d.seen.row || l == d.seen.column);
        flops *= has(loops, l) && !is_counted ? ranges[l].size() : 1;
    }
    return flops;
}

/// Floating-point operations of the forward pass over `ranges`.
constexpr index_t forward_flops(const description& d, const interval* ranges) {
    index_t total = 0;
    for (int k = 0; k < d.nests.size(); ++k) {
        total += flops_of_nest(d, k, ranges);
    }
    return total;
}

/// Those of the whole operator.
constexpr index_t forward_flops(const description& d) { return forward_flops(d, loop_ranges(d).range); }

/// Floating-point operations of the backward pass over `ranges`: one forward's worth for every operand that gets a
/// gradient from a multiplication (or more, where it says so), which makes 2x forward for convolutions and matrix products.
constexpr index_t backward_flops(const description& d, const interval* ranges) {
    index_t total = 0;
    for (int o = 0; o < d.operands.size(); ++o) {
        const int k = gradient_nest(d, o);
        total += k < 0 || d.operands[o].additive ? 0 : d.operands[o].gradient_times * flops_of_nest(d, k, ranges);
    }
    return total;
}

constexpr index_t backward_flops(const description& d) { return backward_flops(d, loop_ranges(d).range); }

/// Those of both passes.
constexpr index_t flops_of(const description& d) { return forward_flops(d) + backward_flops(d); }

/// Bytes that the forward pass over `ranges` reads and writes, each operand once; of what is looked up, as much as is
/// written.
constexpr index_t forward_bytes(const description& d, const interval* ranges) {
    std::uint32_t touched = 0;
    for (const nest& n : d.nests) {
        touched |= n.reads | bit(n.write);
    }
    index_t total = 0;
    for (int o = 0; o < d.operands.size(); ++o) {
        if (has(touched, o)) {
            const index_t elements = region(d, o, ranges).volume();
            const index_t written = region(d, d.output(), ranges).volume();
            const bool few = d.operands[o].gathered && written < elements;
            total += (few ? written : elements) * bytes_of(d.operands[o].type);
        }
    }
    return total;
}

constexpr bool operator==(const affine::term& a, const affine::term& b) {
    return a.loop == b.loop && a.coefficient == b.coefficient;
}
constexpr bool same_index(const affine& a, const affine& b) {
    bool same = a.offset == b.offset && a.all == b.all && a.terms.size() == b.terms.size();
    for (int i = 0; same && i < a.terms.size(); ++i) {
        same = a.terms[i] == b.terms[i];
    }
    return same;
}

/// How many operands of a kind there are.
constexpr int count_of(const description& d, operand_kind kind) {
    int n = 0;
    for (const operand& o : d.operands) {
        n += o.kind == kind ? 1 : 0;
    }
    return n;
}

/// True where each number of the output is made of the one in its place of the only input, and of nothing else.
constexpr bool is_pointwise(const description& d) {
    const operand& in = d.operands[0];
    const operand& out = d.operands[d.output()];
    bool same = d.operands.size() == 2 && in.kind == operand_kind::input && d.nests.size() == 1 &&
                d.nests[0].reduce == reducer::none && in.extents == out.extents;
    for (int k = 0; same && k < out.extents.rank; ++k) {
        same = same_index(in.dim[k], out.dim[k]);
    }
    return same;
}

// What follows is asked of the structure of a description, whichever operator it is of: of a look-up that sums a bag of
// rows as of an embedding, of a product with an activation behind it as of a linear layer. tests/op/predicates.cpp
// holds that.

/// True where inputs are put side by side, and nothing is computed.
constexpr bool joins_inputs(const description& d) {
    return d.nests.size() == 1 && d.nests[0].flops == 0 && count_of(d, operand_kind::input) > 1;
}

/// True where a table of parameters is looked into.
constexpr bool looks_up(const description& d) {
    bool any = false;
    for (const operand& o : d.operands) {
        any = any || (o.gathered && o.kind == operand_kind::parameter);
    }
    return any;
}

/// True where rows of the input are multiplied by one matrix of parameters, [channels, what is summed over], and the
/// output is the products.
constexpr bool multiplies_by_matrix(const description& d) {
    const int w = d.find_operand(operand_kind::parameter, 0);
    const int out = d.find_loop(loop_name::channel);
    const int in = d.find_loop(loop_name::reduction);
    if (w < 0 || out < 0 || in < 0 || d.facts.work != work_kind::matrix_product ||
        !depends(d.operands[d.output()], out)) {
        return false;
    }
    const operand& x = d.operands[w];
    const auto is = [&](int k, int l) { return x.dim[k].terms.size() == 1 && x.dim[k].terms[0].loop == l; };
    return x.extents.rank == 2 && is(0, out) && is(1, in);
}

/// True where the rows and columns of operand `o` are read through windows that weigh what they see: some may lie
/// outside of all of them.
constexpr bool is_seen_through_windows(const description& d, int o) {
    const operand& x = d.operands[o];
    bool windows = x.extents.rank > 2 && d.facts.work == work_kind::convolution;
    for (int k = 2; windows && k < x.extents.rank; ++k) {
        windows = x.dim[k].terms.size() == 2 && x.dim[k].terms[0].coefficient > 0 && x.dim[k].terms[1].coefficient > 0;
    }
    return windows;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
