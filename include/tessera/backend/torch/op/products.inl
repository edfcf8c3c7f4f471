// SPDX-License-Identifier: Apache-2.0
// Bodies of products.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/op/products.hpp"

namespace tessera::torch::detail {

TESSERA_INLINE std::string linear_line(const shard_text& s, std::string&) {
    return assign(s, "F.linear(" + s.input() + ", " + s.parameter(0) + ", " + s.parameter(1) + ")");
}

TESSERA_INLINE std::string heads_of(const shard_text& s, int side, index_t heads) {
    const auto a = s.as<op::matmul_attributes>();
    const index_t columns = op::matrix_input(a, s.input_extents(side)).columns;
    const bool sums_columns = (side == 0) != a.transposed[side];
    const index_t own = sums_columns ? s.range(loop_name::reduction).size() : columns;
    return "rt.heads(" + s.input(side) + ", " + std::to_string(heads) +
           (own < columns && heads > 1 ? ", " + std::to_string(columns) + ", " + std::to_string(own) : "") + ")";
}

TESSERA_INLINE std::string matmul_line(const shard_text& s, std::string&) {
    const auto a = s.as<op::matmul_attributes>();
    const bool folds = a.heads > 1 && s.input_extents(0).rank == 4;
    std::string side[2];
    for (int k = 0; k < 2; ++k) {
        side[k] = op::matrix_input(a, s.input_extents(k)).folded ? heads_of(s, k, s.range(loop_name::channel).size())
                                                                 : s.input(k);
        side[k] += a.transposed[k] ? ".transpose(-2, -1)" : "";
    }
    std::string product = "torch.matmul(" + side[0] + ", " + side[1] + ")";
    if (a.scaled) {
        const op::product_extents e(a, s.input_extents(0), s.input_extents(1));
        product += " * " + std::to_string(e.summed[0]) + " ** -0.5";
    }
    return assign(s, folds ? "rt.side_by_side(" + product + ")" : product);
}

TESSERA_INLINE std::string embedding_line(const shard_text& s, std::string&) {
    const interval rows = s.range(loop_name::reduction);
    const bool whole = rows.size() == s.as<op::embedding_attributes>().vocabulary;
    return assign(s, whole ? "F.embedding(" + s.input() + ", " + s.parameter(0) + ")"
                           : "rt.embedding(" + s.input() + ", " + s.parameter(0) + ", " + std::to_string(rows.begin) +
                                 ")");
}

TESSERA_INLINE std::string position_embedding_line(const shard_text& s, std::string&) {
    const std::string table = s.parameter(0);
    const interval positions = s.input_region().dim[1];
    const bool all_rows = s.as<op::position_embedding_attributes>().rows > 0;
    return assign(s, table == "None" ? s.input()
                     : all_rows      ? s.input() + " + " + table + "[" + std::to_string(positions.begin) + ":" +
                                      std::to_string(positions.end) + "]"
                                : s.input() + " + " + table);
}

} // namespace tessera::torch::detail

#include "tessera/base/end_header.inl"
