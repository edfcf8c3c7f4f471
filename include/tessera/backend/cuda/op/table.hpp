// SPDX-License-Identifier: Apache-2.0
// The operator table on CUDA: which call does each pass of each operator, and why it is not a vendor's where it is not.
// An operator is its file in this folder and its lines here. Pools that are dilated or, in a shard of rows, padded on
// one side are a kernel of our own forward, too; in bf16 so are additions, products and biases, whose parameters stay
// fp32. A test holds the table against the calls that the rows of the operator table make.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/activation.hpp"
#include "tessera/backend/cuda/op/attention.hpp"
#include "tessera/backend/cuda/op/batch_norm.hpp"
#include "tessera/backend/cuda/op/combine.hpp"
#include "tessera/backend/cuda/op/concat.hpp"
#include "tessera/backend/cuda/op/convolution.hpp"
#include "tessera/backend/cuda/op/copy.hpp"
#include "tessera/backend/cuda/op/cross_entropy.hpp"
#include "tessera/backend/cuda/op/dropout.hpp"
#include "tessera/backend/cuda/op/embedding.hpp"
#include "tessera/backend/cuda/op/experts.hpp"
#include "tessera/backend/cuda/op/gather.hpp"
#include "tessera/backend/cuda/op/group_norm.hpp"
#include "tessera/backend/cuda/op/layer_norm.hpp"
#include "tessera/backend/cuda/op/linear.hpp"
#include "tessera/backend/cuda/op/matmul.hpp"
#include "tessera/backend/cuda/op/move.hpp"
#include "tessera/backend/cuda/op/nest.hpp"
#include "tessera/backend/cuda/op/pooling.hpp"
#include "tessera/backend/cuda/op/routing.hpp"
#include "tessera/backend/cuda/op/softmax.hpp"
#include "tessera/backend/cuda/op/transposed_convolution.hpp"
#include "tessera/backend/cuda/op/upsample.hpp"
#include "tessera/net/operator_set.hpp"
#include "tessera/net/own_names.hpp"
#include "tessera/net/paths.hpp"
#include "tessera/op/records.hpp"

#include <algorithm>
#include <span>

namespace tessera::cuda {

namespace detail {

/// One row, or those of a family.
struct row_group {
    const operator_row* rows;
    int count;

    constexpr row_group(const operator_row& row) : rows(&row), count(1) {}
    template <int Count>
    constexpr row_group(const operator_row (&family)[Count]) : rows(family), count(Count) {}
};

inline constexpr row_group row_groups[] = {
    convolution_rows, pool_rows,         linear_row,     activation_rows, combine_rows,
    concat_row,       flatten_row,       dropout_rows,   batch_norm_row,  layer_norm_row,
    softmax_rows,     matmul_row,        embedding_rows, slice_row,       transposed_convolution_row,
    expert_rows,      cross_entropy_row, group_norm_row, move_rows,       reshape_row,
    crop_row,         upsample_row,      nest_rows,      index_rows,      attention_rows,
    routing_rows,
};

constexpr int count_rows() {
    int count = 0;
    for (const row_group& g : row_groups) {
        count += g.count;
    }
    return count;
}

constexpr fixed_vector<const operator_row*, count_rows()> all_rows() {
    fixed_vector<const operator_row*, count_rows()> all;
    for (const row_group& g : row_groups) {
        for (int i = 0; i < g.count; ++i) {
            all.push_back(g.rows + i);
        }
    }
    return all;
}

} // namespace detail

inline constexpr auto operator_rows = detail::all_rows();

/// Rows of some operators; it owns none.
using row_table = std::span<const operator_row* const>;

namespace detail {

template <class Set>
inline constexpr auto table_of = [] {
    fixed_vector<const operator_row*, count_rows()> some;
    for (const operator_row* r : operator_rows) {
        if (Set::has(*r->of)) {
            some.push_back(r);
        }
    }
    return some;
}();

} // namespace detail

/// The rows of the operators in a set (net/operator_set.hpp).
template <class Set>
row_table rows_of() {
    return {detail::table_of<Set>.begin(), detail::table_of<Set>.end()};
}

/// The row of an operator, or null where the backend does not have it.
constexpr const operator_row* row_of(const op_record& of) {
    for (const operator_row* r : operator_rows) {
        if (same_operator(*r->of, of)) {
            return r;
        }
    }
    return nullptr;
}
/// The same, or the one that an operator of one's own brings, or that of its expression or of its loop nests.
const operator_row* row_of(const op_attributes& a);

/// Whether the backend computes a pass of an operator in a precision. A shard may still be refused for its size when
/// its plan is bound.
constexpr bool supports(const op_record& of, pass what, precision math) {
    for (const operator_row* r : operator_rows) {
        if (same_operator(*r->of, of)) {
            return r->offers(what, math);
        }
    }
    if (of.brings_row_for("cuda")) {
        return std::is_constant_evaluated() ? has_pass(of, what)
                                            : static_cast<const operator_row*>(of.row_for("cuda"))->offers(what, math);
    }
    return (of.formula != nullptr || of.generated != nullptr) && what != pass::update; // the text of kernels is made
}

/// The precisions that a row serves, such as "fp32, tf32".
std::string precisions_of(const operator_row& r);

/// Why there is no row of an operator with the pass in that precision, for `layer`, its name in the network.
error refusal_of(const op_record& of, pass what, const std::string& layer);

/// The row of operator `op` of a graph, which has the pass in the operator's precision. Throws tessera::error where
/// there is none.
const operator_row& offered_row(const graph_view& g, int op, pass what);

/// Throws tessera::error for a network with an operator that the table has not and the backend has, whose kernels are
/// not compiled, and for one that has the name of another.
void require_kernels_of(row_table rows, const graph_view& g);

/// The table as text, a line for each operator.
std::string operator_table();

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/table.inl"
#endif

#include "tessera/base/end_header.inl"
