// SPDX-License-Identifier: Apache-2.0
// Products of two activations, matrix by matrix: x[N,M,K], y[N,K,P] -> z[N,M,P], and the same of [N,H,...] with H
// matrices a sample.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/options.hpp"
#include "tessera/op/record.hpp"

namespace tessera::op {

struct matmul_attributes {
    index_t heads = 1;                   ///< matrices side by side in the channels of inputs of rank 3
    flag transposed[2] = {false, false}; ///< rows and columns of an input change places
    flag scaled = false;                 ///< divided by the square root of the extent that is summed over
    static constexpr attribute_field fields[] = {{"heads", 1, 1}, flag_field("transposed", 2), flag_field("scaled")};
};

/// One input of a product. With several heads, an input of rank 3 holds their matrices side by side in its channels:
/// [N,rows,H*columns].
struct matrix_input {
    bool folded = false;
    index_t rows = 1;
    index_t columns = 1;

    constexpr matrix_input(const matmul_attributes& a, const shape& x)
        : folded(a.heads > 1 && x.rank == 3), rows(x[x.rank - 2]), columns(x[x.rank - 1] / (folded ? a.heads : 1)) {}
};

/// The extents of a product: of the result's rows and columns, and the one summed over in each input.
struct product_extents {
    index_t rows, columns, summed[2];

    constexpr product_extents(const matmul_attributes& a, const shape& x, const shape& y)
        : rows(0), columns(0), summed{0, 0} {
        const matrix_input first(a, x);
        const matrix_input second(a, y);
        rows = a.transposed[0] ? first.columns : first.rows;
        summed[0] = a.transposed[0] ? first.rows : first.columns;
        summed[1] = a.transposed[1] ? second.columns : second.rows;
        columns = a.transposed[1] ? second.rows : second.columns;
    }
};

/// Two inputs of rank 3 with several heads give [N,H,M,P] (attention's scores); one of rank 4 and one of rank 3 give
/// [N,M,H*P] again (its mixtures of values), so that no head is ever moved in memory.
constexpr description describe_matmul(const matmul_attributes& a, const shape& x, const shape& y) {
    const product_extents e(a, x, y);
    const bool has_heads = a.heads > 1 || x.rank == 4;
    const bool folds = a.heads > 1 && x.rank == 4;
    const index_t heads = a.heads > 1 ? a.heads : has_heads ? x[1] : 1;
    detail::describer w;
    const int n = w.add_loop(loop_name::sample, x[0]);
    const int h = has_heads ? w.add_loop(loop_name::channel, heads) : -1;
    const int m = w.add_loop(has_heads && !folds ? loop_name::height : loop_name::position, e.rows);
    const int p = w.add_loop(folds       ? loop_name::group_channel
                             : has_heads ? loop_name::width
                                         : loop_name::channel,
                             e.columns);
    const int k = w.add_loop(loop_name::reduction, e.summed[0]);
    const auto index = [&](int which, int row, index_t rows, int column, index_t columns, bool folded) {
        w.index(which, x[0], n);
        if (h >= 0 && !folded) {
            w.index(which, heads, h);
        }
        w.index(which, rows, row);
        affine channel = w.at(column);
        if (folded) {
            channel.terms.push_back({h, columns});
        }
        w.index(which, folded ? heads * columns : columns, channel);
    };
    const matrix_input sides[2] = {{a, x}, {a, y}};
    for (int side = 0; side < 2; ++side) {
        const int input = w.add_operand(operand_kind::input, side);
        const int row = side == 0 ? m : k;
        const int column = side == 0 ? k : p;
        const bool exchanged = a.transposed[side];
        index(input, exchanged ? column : row, sides[side].rows, exchanged ? row : column, sides[side].columns,
              sides[side].folded);
    }
    const int output = w.add_operand(operand_kind::output, 0);
    index(output, m, e.rows, p, e.columns, folds);
    w.add_product(0, 1, output);
    return w.d;
}

constexpr inferred infer_matmul(const matmul_attributes& a, const shape& x, const shape& y) {
    if (a.heads < 1) {
        return detail::refuse(rule::extent_is_zero, a.heads, 1);
    }
    const int second = a.heads > 1 ? 3 : x.rank;
    if (x.rank < 3 || x.rank > 4 || y.rank != second) {
        return detail::refuse(rule::input_has_wrong_rank, x.rank < 3 || x.rank > 4 ? x.rank : y.rank,
                              x.rank < 3 ? 3 : second);
    }
    const shape sides[] = {x, y};
    for (const shape& s : sides) {
        const index_t channels = s.rank == 3 ? s[2] : a.heads > 1 ? s[1] : a.heads;
        if (channels % a.heads != 0 || (s.rank == 4 && channels != a.heads)) {
            return detail::refuse(rule::heads_do_not_divide_channels, channels, a.heads);
        }
    }
    if (x[0] != y[0]) {
        return detail::refuse(rule::shapes_differ, y[0], x[0], static_cast<int>(loop_name::sample));
    }
    if (a.heads == 1 && x.rank == 4 && x[1] != y[1]) {
        return detail::refuse(rule::shapes_differ, y[1], x[1], static_cast<int>(loop_name::channel));
    }
    const product_extents e(a, x, y);
    if (e.summed[0] != e.summed[1]) {
        return detail::refuse(rule::inner_extents_differ, e.summed[1], e.summed[0],
                              static_cast<int>(loop_name::reduction));
    }
    if (a.heads > 1 && x.rank == 4) {
        return {{}, make_shape(x[0], e.rows, a.heads * e.columns)};
    }
    return {{},
            a.heads > 1 || x.rank == 4 ? make_shape(x[0], a.heads > 1 ? a.heads : x[1], e.rows, e.columns)
                                       : make_shape(x[0], e.rows, e.columns)};
}

inline constexpr op_record matmul_record{
    .name = "matmul",
    .infer = [](const op_attributes& a, const shape* x,
                int) { return infer_matmul(a.as<matmul_attributes>(), x[0], x[1]); },
    .describe = [](const op_attributes& a, const shape* x,
                   int) { return describe_matmul(a.as<matmul_attributes>(), x[0], x[1]); },
    .inputs = 2,
    .facts = {.work = work_kind::matrix_product},
    .own = list_of<matmul_attributes>(),
};

} // namespace tessera::op

namespace tessera {

inline constexpr op_kind op_kind::matmul{&op::matmul_record};

/// matmul<heads<>, transpose_first, transpose_second, scaled>: [N,M,K] x [N,K,P] -> [N,M,P], see op/matmul.hpp.
template <class... Options>
struct matmul : detail::layer_with<op_kind::matmul, op::matmul_attributes, Options...> {};

} // namespace tessera

#include "tessera/base/end_header.inl"
