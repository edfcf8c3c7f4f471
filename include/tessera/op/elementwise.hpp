// SPDX-License-Identifier: Apache-2.0
// What operators that work element by element have in common. Operands have one shape, or are broadcast to it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/options.hpp"
#include "tessera/op/record.hpp"

namespace tessera::op {

/// Loop names of a tensor's dimensions: [N,C], [N,T,C] (sequences), [N,C,H,W] (images) and [N,C,D,H,W] (volumes).
constexpr loop_name dimension_name(int d, int rank) {
    constexpr loop_name sequence[] = {loop_name::sample, loop_name::position, loop_name::channel};
    constexpr loop_name image[] = {loop_name::sample, loop_name::channel, loop_name::height, loop_name::width};
    constexpr loop_name volume[] = {loop_name::sample, loop_name::channel, loop_name::depth, loop_name::height,
                                    loop_name::width};
    return rank == 3 ? sequence[d] : rank == 5 ? volume[d] : image[d];
}

/// The dimension of the channels (or features, or classes): the last one of sequences, else the second.
constexpr int channel_dimension(int rank) { return rank == 3 ? 2 : 1; }

/// The dimension along which a concatenation or a slice works.
constexpr int axis_of(index_t axis, int rank) { return axis < 0 ? channel_dimension(rank) : static_cast<int>(axis); }

/// One number from each input makes one of the output. What their gradients read, and whether they are linear, is the
/// caller's to say.
constexpr description describe_elementwise(const shape& x, int inputs, int flops) {
    detail::describer w;
    for (int d = 0; d < x.rank; ++d) {
        w.add_loop(dimension_name(d, x.rank), x[d]);
    }
    std::uint32_t reads = 0;
    for (int k = 0; k < inputs; ++k) {
        const int input = w.add_operand(operand_kind::input, k);
        for (int d = 0; d < x.rank; ++d) {
            w.index(input, x[d], d);
        }
        reads |= bit(input);
    }
    const int output = w.add_operand(operand_kind::output, 0);
    for (int d = 0; d < x.rank; ++d) {
        w.index(output, x[d], d);
    }
    w.add_nest(w.all_loops(), reads, output, reducer::none, flops);
    return w.d;
}

/// The dimension of the output, of rank `rank`, along which dimension `k` of an input goes: the samples are the first
/// ones of both, and the others are aligned from the right, as NumPy aligns shapes.
constexpr int broadcast_to_dimension(int k, int own_rank, int rank) { return k == 0 ? 0 : k + rank - own_rank; }

/// The shape that all inputs are broadcast to: behind the samples an input may have extent 1, or no dimension, where
/// others have more.
constexpr inferred infer_broadcast(const shape* inputs, int count) {
    int rank = 0;
    for (int k = 0; k < count; ++k) {
        if (inputs[k].rank < 1) {
            return detail::refuse(rule::input_has_wrong_rank, inputs[k].rank, max_rank);
        }
        rank = inputs[k].rank > rank ? inputs[k].rank : rank;
    }
    if (rank < 2 || rank > max_rank) {
        return detail::refuse(rule::input_has_wrong_rank, rank, max_rank);
    }
    inferred r;
    r.output.rank = rank;
    for (int d = 0; d < rank; ++d) {
        r.output.extent[d] = d == 0 ? inputs[0][0] : 1;
    }
    for (int i = 0; i < count; ++i) {
        for (int k = 0; k < inputs[i].rank; ++k) {
            const int d = broadcast_to_dimension(k, inputs[i].rank, rank);
            const index_t own = inputs[i][k];
            index_t& all = r.output.extent[d];
            if (own != all && (d == 0 || (own != 1 && all != 1))) {
                return detail::refuse(rule::shapes_differ, own, all, static_cast<int>(dimension_name(d, rank)));
            }
            all = own != 1 ? own : all;
        }
    }
    return r;
}

/// The same as describe_elementwise(), of inputs that are broadcast: their indices leave out the loops that they are
/// broadcast along.
constexpr description describe_broadcast(const shape* inputs, int count, int flops) {
    const shape y = infer_broadcast(inputs, count).output;
    description d = describe_elementwise(y, count, flops);
    for (int i = 0; i < count; ++i) {
        const shape& x = inputs[i];
        operand& o = d.operands[i];
        o.extents = x;
        for (int k = 0; k < x.rank; ++k) {
            const int to = broadcast_to_dimension(k, x.rank, y.rank);
            o.dim[k] = x[k] == y[to] ? detail::describer::at(to) : affine{};
        }
    }
    return d;
}

/// Whether an input of an element-wise operator is broadcast.
constexpr bool is_broadcast(const description& d) {
    bool any = false;
    for (int o = 0; o < d.output(); ++o) {
        any = any || !(d.operands[o].extents == d.operands[d.output()].extents);
    }
    return any;
}

/// All inputs have the shape of the first.
constexpr inferred infer_alike(const shape* inputs, int count) {
    const shape& x = inputs[0];
    const inferred r = x.rank < 2 || x.rank > max_rank ? detail::refuse(rule::input_has_wrong_rank, x.rank, max_rank)
                                                       : inferred{{}, x};
    for (int k = 1; k < count && !r.refused; ++k) {
        if (inputs[k].rank != inputs[0].rank) {
            return detail::refuse(rule::shapes_differ, inputs[k].rank, inputs[0].rank);
        }
        const int d = detail::first_difference(inputs[k], inputs[0]);
        if (d >= 0) {
            return detail::refuse(rule::shapes_differ, inputs[k][d], inputs[0][d],
                                  static_cast<int>(dimension_name(d, inputs[0].rank)));
        }
    }
    return r;
}

/// A function of one number, whose derivative is a function of its result (which frees the input) or of the input.
constexpr description describe_function(const shape& x, int flops, bool by_result) {
    description d = describe_elementwise(x, 1, flops);
    d.operands[0].gradient_reads = bit(by_result ? d.output() : 0);
    return d;
}

constexpr description as_linear(description d) {
    d.linear = true;
    return d;
}

} // namespace tessera::op

#include "tessera/base/end_header.inl"
