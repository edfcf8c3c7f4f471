// SPDX-License-Identifier: Apache-2.0
// Products of two activations, matrix by matrix: x[N,M,K], y[N,K,P] -> z[N,M,P], and the same of [N,H,...] with H matrices a sample.
#pragma once

#include "tessera/op/attributes.hpp"
#include "tessera/op/description.hpp"

namespace tessera::op {

/// One input of a product. With several heads, an input of rank 3 holds their matrices side by side in its channels: [N,rows,H*columns].
struct matrix_input {
    bool folded = false;
    index_t rows = 1;
    index_t columns = 1;

    constexpr matrix_input(const op_attributes& a, const shape& x)
        : folded(a.heads > 1 && x.rank == 3), rows(x[x.rank - 2]), columns(x[x.rank - 1] / (folded ? a.heads : 1)) {}
};

/// The extents of a product: of the result's rows and columns, and the one summed over in each input.
struct product_extents {
    index_t rows, columns, summed[2];

    constexpr product_extents(const op_attributes& a, const shape& x, const shape& y)
        : rows(0), columns(0), summed{0, 0} {
        const matrix_input first(a, x);
        const matrix_input second(a, y);
        rows = a.transposed[0] ? first.columns : first.rows;
        summed[0] = a.transposed[0] ? first.rows : first.columns;
        summed[1] = a.transposed[1] ? second.columns : second.rows;
        columns = a.transposed[1] ? second.rows : second.columns;
    }
};

/// Two inputs of rank 3 with several heads give [N,H,M,P] (attention's scores); one of rank 4 and one of rank 3 give [N,M,H*P] again
/// (its mixtures of values), so that no head is ever moved in memory.
constexpr description describe_matmul(const op_attributes& a, const shape& x, const shape& y) {
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

} // namespace tessera::op
