// SPDX-License-Identifier: Apache-2.0
// The matrices that a nest multiplies, from its description: what of a range are rows, columns, and terms of each sum.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/analysis.hpp"

namespace tessera {

/// `batches` products of rows x depth by depth x columns; without rows nothing is known.
struct product_shape {
    index_t rows = 0;
    index_t columns = 0;
    index_t depth = 0;
    index_t batches = 1;

    constexpr index_t flops() const { return 2 * batches * rows * columns * depth; }
    friend bool operator==(const product_shape&, const product_shape&) = default;
};

/// The loops in an operand's index, as a bit mask.
constexpr std::uint32_t loops_of(const operand& o) {
    std::uint32_t loops = 0;
    for (int k = 0; k < o.extents.rank; ++k) {
        for (const affine::term& t : o.dim[k].terms) {
            loops |= bit(t.loop);
        }
    }
    return loops;
}

/// The product that a nest makes over `ranges`: of what it writes, or, of the gradient of the operand `of`, in its
/// reverse. Each is the product of the other two of three: the result and its two factors. Rows are what the product
/// shares with one factor alone, columns with the other, and the terms of a sum are what only the factors have.
constexpr product_shape product_of(const description& d, int nest, const interval* ranges, int of = -1) {
    const tessera::nest& n = d.nests[nest];
    int factors[2] = {-1, -1};
    int found = 0;
    for (int o = 0; o < d.operands.size(); ++o) {
        if (has(n.reads, o) && !d.operands[o].additive && d.operands[o].differentiable) {
            if (found < 2) {
                factors[found] = o;
            }
            ++found;
        }
    }
    if (found != 2 || (of >= 0 && of != factors[0] && of != factors[1])) {
        return {};
    }
    const int made = of < 0 ? n.write : of;
    const std::uint32_t made_loops = loops_of(d.operands[made]);
    const std::uint32_t one = loops_of(d.operands[of == factors[0] ? factors[1] : factors[0]]);
    const std::uint32_t two = loops_of(d.operands[of < 0 ? factors[1] : n.write]);
    product_shape p{1, 1, 1, 1};
    for (int l = 0; l < d.loops.size(); ++l) {
        if (has(n.loops, l)) {
            const bool is_sum = !has(made_loops, l);
            const bool is_row = has(one, l) && !has(two, l);
            const bool is_column = has(two, l) && !has(one, l);
            (is_sum ? p.depth : is_row ? p.rows : is_column ? p.columns : p.batches) *= ranges[l].size();
        }
    }
    return p;
}

} // namespace tessera

#include "tessera/base/end_header.inl"
