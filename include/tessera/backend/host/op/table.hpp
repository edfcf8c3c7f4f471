// SPDX-License-Identifier: Apache-2.0
// The operator table of the host: what it offers for each operator, which is its dispatch and its documentation. A new
// operator that wants more than plain loops is a header in this folder and a line in the list below; a new element-wise
// one is a row in elementwise.hpp.
#pragma once

#include "tessera/backend/host/op/batch_norm.hpp"
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
#include "tessera/backend/host/op/pooling.hpp"
#include "tessera/backend/host/op/softmax.hpp"
#include "tessera/backend/host/op/transposed_convolution.hpp"
#include "tessera/backend/reference/op/table.hpp"
#include "tessera/op/records.hpp"

#include <span>
#include <string>

namespace tessera::host {

/// The rows of each header.
// clang-format off
inline constexpr std::span<const operator_row> operator_rows[] = {
    batch_norm_rows,
    concat_rows,
    convolution_rows,
    cross_entropy_rows,
    dropout_rows,
    elementwise_rows,
    embedding_rows,
    expert_rows,
    global_average_rows,
    group_norm_rows,
    layer_norm_rows,
    linear_rows,
    matmul_rows,
    pooling_rows,
    softmax_rows,
    transposed_convolution_rows,
};
// clang-format on

/// Null for an operator without a row.
constexpr const operator_row* row_of(const op_record& r) {
    for (const std::span<const operator_row> family : operator_rows) {
        for (const operator_row& row : family) {
            if (same_operator(*row.of, r)) {
                return &row;
            }
        }
    }
    return nullptr;
}

namespace detail {

constexpr bool rows_are_whole() {
    for (const std::span<const operator_row> family : operator_rows) {
        for (const operator_row& row : family) {
            if (row_of(*row.of) != &row) {
                return false;
            }
        }
    }
    return true;
}
static_assert(
    rows_are_whole(),
    "a row says of which operator it is, which ways there are and who makes their jobs; an operator has one row");

} // namespace detail

/// The row of the table, or the one that an operator of one's own brings: op_record{..., .rows = {{"host", &row}}}. Null: there is none.
inline const operator_row* row_of(const op_attributes& a) {
    const op_record& r = record_of(a);
    const operator_row* const found = row_of(r);
    return found != nullptr ? found : static_cast<const operator_row*>(r.row_for("host"));
}

/// Whether the table has a row. (Not by address: g++ does not compare addresses while it compiles for sanitizers.)
constexpr bool has_row(const op_record& r) {
    for (const std::span<const operator_row> family : operator_rows) {
        for (const operator_row& row : family) {
            if (same_operator(*row.of, r)) {
                return true;
            }
        }
    }
    return false;
}

/// Whether the host computes a pass of an operator: by its row, or by the plain loops that the reference has; in fp32
/// alone, which does for tf32 networks too (their products may be rounded). What there is of an operator there is of all
/// passes.
constexpr bool supports(const op_record& r, pass what, precision p) {
    return p != precision::bf16 && (has_row(r) || r.brings_row_for("host") || reference::supports(r, what, p));
}

/// Why the operator of this path is not supported.
inline std::string refusal_of(const op_record& r, precision p, const std::string& path) {
    if (p == precision::bf16) {
        return "tessera: " + path +
               " computes in bf16 and the host backend in fp32 alone; run the network without "
               "with_precision<bf16, ...>, or on the CUDA or the reference backend";
    }
    return "tessera: " + path + ": the host backend does not know the operator " + r.name +
           ", and the reference has no plain loops for it; its record may bring a row: .rows = {{\"host\", &row}}";
}

/// The table as text, a line for each operator of the library.
inline std::string operator_table() {
    std::string text;
    for (const op_record* const r : library_operators) {
        const operator_row* const row = row_of(*r);
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
