// SPDX-License-Identifier: Apache-2.0
// The affine description of an operator: loops, operands with affine indices, and a short sequence of loop nests.
// The idea that everything about splitting an operator follows from such a description is Tofu's (EuroSys 2019, section
// 4).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"
#include "tessera/base/fixed_vector.hpp"

namespace tessera {

/// What a loop runs over, by the name that a user splits it with.
enum class loop_name : std::uint8_t {
    sample,
    channel, ///< output channels or features (the groups, in a grouped convolution); classes in a cross-entropy
    height,
    width,
    reduction,     ///< input channels or features, summed over
    group_channel, ///< output channels within a group
    window_height,
    window_width,
    position,   ///< place in a sequence, [N,T,C]
    expert,     ///< one of several networks side by side, each for tokens of its own
    tap_height, ///< of a transposed convolution: which of the inputs that meet in one output
    tap_width,
    depth,  ///< of volumes, [N,C,D,H,W]
    factor, ///< of an extent that is taken apart, behind the major one
    window_depth,
    key_position, ///< place in the sequence that is attended to
};

constexpr const char* to_text(loop_name name) {
    constexpr const char* names[] = {"sample",    "channel",       "height",        "width",
                                     "reduction", "group_channel", "window_height", "window_width",
                                     "position",  "expert",        "tap_height",    "tap_width",
                                     "depth",     "factor",        "window_depth",  "key_position"};
    return names[static_cast<int>(name)];
}

/// A dimension, as a fact in a compile error.
template <loop_name Name>
struct along;

inline constexpr int max_loops = 10;
inline constexpr int max_operands = 14;
inline constexpr int max_nests = 6;
inline constexpr int max_inputs = 8;
inline constexpr int max_terms = 4; ///< loops in the index of one dimension

/// One loop of an operator. A loop that is `whole` is never split whatever its role (a kernel window: tiny, and its
/// shards would overlap almost entirely).
struct loop {
    loop_name name = loop_name::sample;
    index_t extent = 1;
    bool whole = false;
};

/// The index of an operand in one of its dimensions: offset + sum of coefficient * loop. `all` instead means the whole
/// extent at every point: a data-dependent (gathered) index, or a dimension that no loop runs over.
struct affine {
    struct term {
        int loop = 0;
        index_t coefficient = 1;
    };
    fixed_vector<term, max_terms> terms;
    index_t offset = 0;
    bool all = false;
};

enum class operand_kind : std::uint8_t {
    input,        ///< a tensor of the network; `slot` is its place among the operator's inputs
    parameter,    ///< trained; `slot` is its place among the operator's parameters
    state,        ///< a parameter that forward updates and no gradient reaches (running statistics)
    intermediate, ///< written by one nest and read by later ones
    output,
};

/// One tensor that an operator touches. Every nest that touches it uses the same index.
struct operand {
    operand_kind kind = operand_kind::input;
    int slot = 0;
    shape extents;
    element type = element::f32;
    affine dim[max_rank];
    bool differentiable = true; ///< gradients flow to it (not to labels, nor to the maximum inside a softmax)
    bool additive = false;      ///< added once: where a reduction is split, only its first part uses it (a bias)
    bool gathered = false;      ///< looked up: no more elements are touched than the nest writes
    std::uint32_t gradient_reads =
        0;                  ///< operands, as a bit mask, whose values its gradient needs; of an output that is
                            ///< a partial sum it is the shard's own part
    int gradient_times = 1; ///< its gradient costs the FLOPs of the nest it is made in so many times
};

enum class reducer : std::uint8_t { none, sum, max };

/// A loop nest: at each point of `loops` it reads operands and reduces into `write` over the loops that are not in its
/// index.
struct nest {
    std::uint32_t loops = 0;
    std::uint32_t reads = 0;
    int write = 0;
    reducer reduce = reducer::none;
    int flops = 0; ///< per point, a multiply-add counted as 2
};

/// Kinds of work that devices do at different rates.
enum class work_kind : std::uint8_t { convolution, matrix_product, elementwise };
inline constexpr int work_kinds = 3;

constexpr const char* to_text(work_kind k) {
    constexpr const char* names[] = {"convolution", "matrix_product", "elementwise"};
    return names[static_cast<int>(k)];
}

/// What indices do not say of an operator. Its record has them, and its description repeats them. Any operator may: a
/// view is a flattening of images as well as a sequence of one position; a loss compares classes, or numbers.
struct op_facts {
    work_kind work = work_kind::elementwise;
    bool view =
        false; ///< its output is its input by another name: the same elements in the same order, in the same memory
    bool passes_gradient = false; ///< the gradient of each input is that of the output: nothing is computed backward
    bool loss = false;            ///< its output adds to what is minimized, and nothing reads it
    /// What it makes of some keys can be merged with what it has made of others: they may come round a ring, see
    /// configuration::ring.
    bool merges = false;
    /// Gradients of inputs and parameters need the same work: one task of the pass `backward` makes both.
    bool joint_gradients = false;
};

/// Of pairs of points of two loops, those that count: first <= column - row <= last. Others, such as what a causal mask
/// hides, are not computed.
struct diagonal_band {
    int row = -1; ///< a loop; -1: all pairs count
    int column = -1;
    index_t first = 0;
    index_t last = 0;
};

struct description {
    op_facts facts;
    fixed_vector<loop, max_loops> loops;
    fixed_vector<operand, max_operands> operands;
    fixed_vector<nest, max_nests> nests;
    diagonal_band seen;  ///< of nests that have both its loops
    bool linear = false; ///< output is linear in its inputs taken together: partial sums may pass through

    constexpr int find_loop(loop_name name) const {
        for (int i = 0; i < loops.size(); ++i) {
            if (loops[i].name == name) {
                return i;
            }
        }
        return -1;
    }
    constexpr int find_operand(operand_kind kind, int slot = 0) const {
        for (int i = 0; i < operands.size(); ++i) {
            if (operands[i].kind == kind && operands[i].slot == slot) {
                return i;
            }
        }
        return -1;
    }
    constexpr int output() const { return find_operand(operand_kind::output); }
    /// The running state that forward updates, and that stands in for the first intermediate in an evaluation; -1: it
    /// has none.
    constexpr int running_state() const {
        for (int i = 0; i < operands.size(); ++i) {
            if (operands[i].kind == operand_kind::state) {
                return i;
            }
        }
        return -1;
    }
    constexpr bool has_running_state() const { return running_state() >= 0; }
};

/// More multiply-adds (2^58) than can be counted with all that is done to them.
constexpr bool is_too_large(const description& d) {
    constexpr index_t most = index_t{1} << 58;
    index_t points = 1;
    for (const loop& l : d.loops) {
        if (l.extent > 0 && points > most / l.extent) {
            return true;
        }
        points *= l.extent > 0 ? l.extent : 1;
    }
    return false;
}

constexpr std::uint32_t bit(int i) { return std::uint32_t{1} << static_cast<unsigned>(i); }
constexpr bool has(std::uint32_t mask, int i) { return (mask & bit(i)) != 0; }

namespace detail {

/// The words in which operators describe themselves.
struct describer {
    description d;

    constexpr int add_loop(loop_name name, index_t extent, bool is_whole = false) {
        d.loops.push_back(loop{name, extent, is_whole});
        return d.loops.size() - 1;
    }
    constexpr int add_operand(operand_kind kind, int slot, element type = element::f32) {
        operand o;
        o.kind = kind;
        o.slot = slot;
        o.type = type;
        d.operands.push_back(o);
        return d.operands.size() - 1;
    }
    /// Appends a dimension of `extent` with the index `offset + sum of terms`.
    constexpr void index(int which, index_t extent, const affine& a) {
        operand& o = d.operands[which];
        o.dim[o.extents.rank] = a;
        o.extents.extent[o.extents.rank++] = extent;
    }
    constexpr void index(int which, index_t extent, int loop_index) { index(which, extent, at(loop_index)); }
    constexpr int add_nest(std::uint32_t loops, std::uint32_t reads, int write, reducer reduction, int flops) {
        d.nests.push_back(nest{loops, reads, write, reduction, flops});
        return d.nests.size() - 1;
    }
    /// The bias of a layer, if it has one: a number per output channel, added once. Returns its operand as a bit mask.
    constexpr std::uint32_t add_bias(bool has_bias, index_t channels, const affine& channel) {
        if (!has_bias) {
            return 0;
        }
        const int bias = add_operand(operand_kind::parameter, 1);
        index(bias, channels, channel);
        d.operands[bias].additive = true;
        return bit(bias);
    }
    /// The only nest: sums products of two operands, whose gradients each read the other one. `more`: what else it
    /// reads, as a bit mask.
    constexpr void add_product(int a, int b, int output, std::uint32_t more = 0) {
        d.operands[a].gradient_reads = bit(b);
        d.operands[b].gradient_reads = bit(a);
        add_nest(all_loops(), bit(a) | bit(b) | more, output, reducer::sum, 2);
    }
    constexpr std::uint32_t all_loops() const { return bit(d.loops.size()) - 1; }

    static constexpr affine at(int loop_index, index_t coefficient = 1, index_t offset = 0) {
        affine a;
        a.terms.push_back({loop_index, coefficient});
        a.offset = offset;
        return a;
    }
    static constexpr affine everything() {
        affine a;
        a.all = true;
        return a;
    }
};

} // namespace detail

} // namespace tessera

#include "tessera/base/end_header.inl"
