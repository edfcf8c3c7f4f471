// SPDX-License-Identifier: Apache-2.0
// What the reference backend offers: the rows of all operators that it has loops for. The table is the dispatch.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/reference/op/attention.hpp"
#include "tessera/backend/reference/op/batch_norm.hpp"
#include "tessera/backend/reference/op/cached_attention.hpp"
#include "tessera/backend/reference/op/copy.hpp"
#include "tessera/backend/reference/op/cross_entropy.hpp"
#include "tessera/backend/reference/op/dropout.hpp"
#include "tessera/backend/reference/op/embedding.hpp"
#include "tessera/backend/reference/op/expression.hpp"
#include "tessera/backend/reference/op/gather.hpp"
#include "tessera/backend/reference/op/group_norm.hpp"
#include "tessera/backend/reference/op/layer_norm.hpp"
#include "tessera/backend/reference/op/nest.hpp"
#include "tessera/backend/reference/op/pool.hpp"
#include "tessera/backend/reference/op/product.hpp"
#include "tessera/backend/reference/op/route.hpp"
#include "tessera/backend/reference/op/routing.hpp"
#include "tessera/backend/reference/op/softmax.hpp"
#include "tessera/backend/reference/op/upsample.hpp"
#include "tessera/backend/reference/op/vocabulary_loss.hpp"

#include "tessera/net/operator_set.hpp"
#include "tessera/task/made_rows.hpp"

#include <span>
#include <string>

namespace tessera::reference {

/// The rows of each header.
// clang-format off
inline constexpr auto library_rows = row_list<>()
    + attention_rows
    + batch_norm_rows
    + cached_attention_rows
    + copy_rows
    + cross_entropy_rows
    + dropout_rows
    + embedding_rows
    + index_rows
    + group_norm_rows
    + layer_norm_rows
    + pool_rows
    + product_rows
    + route_rows
    + routing_rows
    + softmax_rows
    + upsample_rows
    + vocabulary_loss_rows
;
// clang-format on
static_assert(library_rows.has_one_of_each(), "an operator has one row");

/// Rows of some operators; it owns none.
template <class Real>
using row_table = std::span<const operator_row<Real>* const>;

namespace detail {

#ifdef TESSERA_COMPILED
template <class Real>
row_table<Real> compiled_rows(); ///< those of the library, in float and double
#endif

template <class Real, class Set>
row_table<Real> table_of() {
#ifdef TESSERA_COMPILED
    static const auto rows = made_rows_among<Set>(compiled_rows<Real>());
#else
    static constexpr auto rows = rows_among<operator_row<Real>, Set>(library_rows);
#endif
    return rows;
}

template <class Real>
const operator_row<Real>* own_row(const op_record& record) {
    const auto* own = static_cast<const own_rows*>(record.row_for("reference"));
    if (own == nullptr) {
        return record.formula != nullptr     ? &any_expression<Real>
               : record.generated != nullptr ? &any_nests<Real>
                                             : nullptr;
    }
    if constexpr (sizeof(Real) == sizeof(float)) {
        return &own->single;
    } else {
        return &own->twice;
    }
}

template <class... Row>
constexpr bool rounds_parameters(row_list<Row...>, const op_record& record) {
    return ((Row::rounds_parameters && same_operator(Row::of, record)) || ...);
}

} // namespace detail

/// The rows of the operators in a set; no other loops are instantiated.
template <class Real, class Set>
row_table<Real> rows_of() {
    return detail::table_of<Real, Set>();
}

/// The row of the table, or the one that an operator of one's own brings, or that of all expressions or loop nests.
/// Null: there is none.
template <class Real>
const operator_row<Real>* find_row(const op_record& record, row_table<Real> table) {
    for (const operator_row<Real>* const row : table) {
        if (row->of == &record) {
            return row;
        }
    }
    return detail::own_row<Real>(record);
}
/// Of all operators.
template <class Real>
const operator_row<Real>* find_row(const op_record& record) {
    return find_row<Real>(record, rows_of<Real, all_operators>());
}

/// Whether the backend computes a pass of an operator: all passes of what it has, in every precision.
constexpr bool supports(const op_record& record, pass what, precision math) {
    return !only_planned(math) && has_pass(record, what) &&
           (library_rows.has(record) || record.formula != nullptr || record.generated != nullptr ||
            record.brings_row_for("reference"));
}

/// Throws tessera::error for an operator that has no row.
template <class Real>
const operator_row<Real>& row_for(const op_record& record, row_table<Real> table) {
    const operator_row<Real>* const found = find_row<Real>(record, table);
    if (found == nullptr && record.only_planned != nullptr) {
        throw error(std::string("tessera: the operator ") + record.name + " cannot run: " + record.only_planned);
    }
    if (found == nullptr) {
        throw error(library_rows.has(record)
                        ? std::string("tessera: the backend was made for a network without the operator ") +
                              record.name +
                              "; make one for this network: without a set of operators a backend has them all"
                        : std::string("tessera: the reference backend has no loops for the operator ") + record.name +
                              "; its record may bring them: .rows = {{\"reference\", &rows}}");
    }
    return *found;
}
/// Of all operators.
template <class Real>
const operator_row<Real>& row_for(const op_record& record) {
    return row_for<Real>(record, rows_of<Real, all_operators>());
}

/// Whether an operator takes its parameters rounded to bf16 where it computes in it.
bool rounds_parameters(const op_record& record);

} // namespace tessera::reference

#ifndef TESSERA_COMPILED
#include "tessera/backend/reference/op/table.inl"
#endif

#include "tessera/base/end_header.inl"
