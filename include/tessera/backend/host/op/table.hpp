// SPDX-License-Identifier: Apache-2.0
// The operator table of the host: what it offers for each operator, which is its dispatch and its documentation. A new
// operator that wants more than plain loops is a header in this folder and a line in the list below; a new element-wise
// one is a row in elementwise.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/op/attention.hpp"
#include "tessera/backend/host/op/batch_norm.hpp"
#include "tessera/backend/host/op/cached_attention.hpp"
#include "tessera/backend/host/op/concat.hpp"
#include "tessera/backend/host/op/convolution.hpp"
#include "tessera/backend/host/op/cross_entropy.hpp"
#include "tessera/backend/host/op/dropout.hpp"
#include "tessera/backend/host/op/elementwise.hpp"
#include "tessera/backend/host/op/embedding.hpp"
#include "tessera/backend/host/op/experts.hpp"
#include "tessera/backend/host/op/global_average.hpp"
#include "tessera/backend/host/op/group_norm.hpp"
#include "tessera/backend/host/op/layer_norm.hpp"
#include "tessera/backend/host/op/linear.hpp"
#include "tessera/backend/host/op/matmul.hpp"
#include "tessera/backend/host/op/move.hpp"
#include "tessera/backend/host/op/nest.hpp"
#include "tessera/backend/host/op/pooling.hpp"
#include "tessera/backend/host/op/rotary.hpp"
#include "tessera/backend/host/op/routing.hpp"
#include "tessera/backend/host/op/softmax.hpp"
#include "tessera/backend/host/op/transposed_convolution.hpp"
#include "tessera/backend/host/op/upsample.hpp"
#include "tessera/backend/host/op/vocabulary_loss.hpp"
#include "tessera/backend/reference/op/table.hpp"
#include "tessera/net/operator_set.hpp"
#include "tessera/op/library.hpp"
#include "tessera/task/made_rows.hpp"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tessera::host {

/// The rows of each header.
// clang-format off
inline constexpr auto library_rows = row_list<>()
    + attention_rows
    + batch_norm_rows
    + cached_attention_rows
    + concat_rows
    + convolution_rows
    + cross_entropy_rows
    + dropout_rows
    + elementwise_rows
    + embedding_rows
    + expert_rows
    + global_average_rows
    + group_norm_rows
    + layer_norm_rows
    + linear_rows
    + matmul_rows
    + move_rows
    + nest_rows
    + pooling_rows
    + routing_rows
    + rotary_rows
    + softmax_rows
    + transposed_convolution_rows
    + upsample_rows
    + vocabulary_loss_rows
;
// clang-format on
static_assert(library_rows.has_one_of_each(), "an operator has one row");

/// Rows of some operators, and the plain loops of the same; it owns none.
struct row_table {
    std::span<const operator_row* const> rows;
    reference::row_table<float> plain;
};

namespace detail {

/// Whether a row follows from an operator's expression, or its loop nests, alone.
constexpr bool is_generated(const op_record& r) {
    return (r.formula != nullptr || r.generated != nullptr) && !library_rows.has(r) && !r.brings_row_for("host");
}
template <const op_record& Of>
constexpr const operator_row* generated_row() {
    if constexpr (Of.formula != nullptr) {
        return &expression_row<Of>::template value<operator_row>;
    } else {
        return &nest_row<Of>::template value<operator_row>;
    }
}

#ifdef TESSERA_COMPILED
std::span<const operator_row* const> compiled_rows(); ///< those of the library
#endif

/// Those of the library for the operators in a set.
template <class Set>
std::vector<const operator_row*> library_rows_of() {
#ifdef TESSERA_COMPILED
    return made_rows_among<Set>(compiled_rows());
#else
    constexpr auto rows = rows_among<operator_row, Set>(library_rows);
    return {rows.begin(), rows.end()};
#endif
}

/// With them those of the operators of one's own that are expressions or loop nests, where the set says which there
/// are.
template <class Set>
std::vector<const operator_row*> all_rows_of() {
    std::vector<const operator_row*> all = library_rows_of<Set>();
    if constexpr (requires { Set::records; }) {
        [[maybe_unused]] const auto take = [&]<std::size_t K>() {
            if constexpr (is_generated(*Set::records[K])) {
                all.push_back(generated_row<*Set::records[K]>());
            }
        };
        [&]<std::size_t... I>(std::index_sequence<I...>) { (take.template operator()<I>(), ...); }
        (std::make_index_sequence<Set::records.size()>{});
    }
    return all;
}

template <class Set>
std::span<const operator_row* const> table_of() {
    static const std::vector<const operator_row*> rows = all_rows_of<Set>();
    return rows;
}

} // namespace detail

/// The rows of the operators in a set; no other kernels are instantiated.
template <class Set>
row_table rows_of() {
    return {detail::table_of<Set>(), reference::rows_of<float, Set>()};
}

/// The rows that a backend works with.
class operator_rows {
public:
    operator_rows(const row_table& first) : tables_{first} {}

    /// Those of further operators. Not while plans are bound or prepared.
    void add(const row_table& more);

    /// The row of a table, or the one that an operator of one's own brings: op_record{..., .rows = {{"host", &row}}}.
    /// Of other expressions that of them all. Null: there is none.
    const operator_row* find(const op_record& r) const;
    const operator_row* find(const op_attributes& a) const { return find(record_of(a)); }

    /// The plain loops of an operator. Throws tessera::error where there are none.
    const reference::operator_row<float>& plain(const op_record& r) const;

    /// Whether it has something for an operator that the host supports.
    bool has(const op_record& r) const;

private:
    std::vector<row_table> tables_;
};

/// Those of all operators. (A template, so that they are instantiated where it is called.)
template <class Set = all_operators>
operator_rows all_rows() {
    return rows_of<Set>();
}

/// The row of an operator of the library; null for one without.
template <class Set = all_operators>
const operator_row* row_of(const op_record& r) {
    for (const operator_row* const row : detail::table_of<Set>()) {
        if (same_operator(*row->of, r)) {
            return row;
        }
    }
    return nullptr;
}

/// Whether the host computes a pass of an operator: by its row, or by the plain loops that the reference has; in fp32
/// alone, which does for tf32 networks too (their products may be rounded). What there is of an operator there is of
/// all passes that it has.
constexpr bool supports(const op_record& r, pass what, precision p) {
    return p <= precision::tf32 && has_pass(r, what) &&
           (library_rows.has(r) || r.brings_row_for("host") || reference::supports(r, what, p));
}

/// Why the operator of this path is not supported, or not by a backend that was made for certain operators.
std::string refusal_of(const op_record& r, precision p, const std::string& path);

/// The table as text, a line for each operator of the library.
template <class Set = all_operators>
std::string operator_table() {
    std::string text;
    for (const op_record* const r : library_operators) {
        const operator_row* const row = row_of<Set>(*r);
        text += std::string(r->name) + ": ";
        if (row != nullptr) {
            text += std::string("forward ") + row->forward + "; backward " + row->backward +
                    (*row->why == 0 ? "" : std::string("; ") + row->why);
        } else {
            text += r->facts.view ? "nothing to compute: a name for the same memory"
                                  : "forward plain loops; backward plain loops; the reference's: no row of its own";
        }
        text += "\n";
    }
    return text;
}

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/op/table.inl"
#endif

#include "tessera/base/end_header.inl"
