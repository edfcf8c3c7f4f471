// SPDX-License-Identifier: Apache-2.0
// What the reference backend offers: the rows of all operators that it has loops for. The table is the dispatch.
#pragma once

#include "tessera/backend/reference/op/batch_norm.hpp"
#include "tessera/backend/reference/op/copy.hpp"
#include "tessera/backend/reference/op/cross_entropy.hpp"
#include "tessera/backend/reference/op/dropout.hpp"
#include "tessera/backend/reference/op/elementwise.hpp"
#include "tessera/backend/reference/op/embedding.hpp"
#include "tessera/backend/reference/op/layer_norm.hpp"
#include "tessera/backend/reference/op/pool.hpp"
#include "tessera/backend/reference/op/product.hpp"
#include "tessera/backend/reference/op/route.hpp"
#include "tessera/backend/reference/op/softmax.hpp"

#include <span>
#include <string>

namespace tessera::reference {

/// Rows of operators, in any order.
template <class Real>
using operator_table = std::span<const operator_row<Real>* const>;

/// Those of the library.
template <class Real>
inline constexpr const operator_row<Real>* library_rows[] = {
    &batch_norm_row<Real>,
    &concat_row<Real>,
    &flatten_row<Real>,
    &slice_row<Real>,
    &cross_entropy_row<Real>,
    &dropout_row<Real>,
    &channel_dropout_row<Real>,
    &relu_row<Real>,
    &sigmoid_row<Real>,
    &tanh_row<Real>,
    &gelu_row<Real>,
    &add_row<Real>,
    &multiply_row<Real>,
    &embedding_row<Real>,
    &position_embedding_row<Real>,
    &layer_norm_row<Real>,
    &max_pool_row<Real>,
    &average_pool_row<Real>,
    &global_average_pool_row<Real>,
    &conv2d_row<Real>,
    &linear_row<Real>,
    &transposed_conv2d_row<Real>,
    &expert_linear_row<Real>,
    &matmul_row<Real>,
    &route_row<Real>,
    &softmax_row<Real>,
};

/// Null for an operator that neither a table has nor brings its own.
template <class Real>
const operator_row<Real>* find_row(const op_record& record, operator_table<Real> table) {
    for (const operator_row<Real>* r : table) {
        if (r->of == &record) {
            return r;
        }
    }
    const auto* own = static_cast<const own_rows*>(record.row_for("reference"));
    if constexpr (sizeof(Real) == sizeof(float)) {
        return own == nullptr ? nullptr : &own->single;
    } else {
        return own == nullptr ? nullptr : &own->twice;
    }
}

/// Whether the backend computes a pass of an operator: all passes of what it has, in every precision.
constexpr bool supports(const op_record& record, pass, precision) {
    for (const operator_row<float>* r : library_rows<float>) {
        if (r->of == &record) {
            return true;
        }
    }
    return record.row_for("reference") != nullptr;
}

/// Throws tessera::error for an operator that has no row.
template <class Real>
const operator_row<Real>& row_for(const op_record& record, operator_table<Real> table) {
    const operator_row<Real>* const found = find_row<Real>(record, table);
    if (found == nullptr) {
        throw error(std::string("tessera: the reference backend has no loops for the operator ") + record.name +
                    "; its record may bring them: .rows = {{\"reference\", &rows}}");
    }
    return *found;
}

} // namespace tessera::reference
