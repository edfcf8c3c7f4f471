// SPDX-License-Identifier: Apache-2.0
// What the reference backend offers: the rows of all operators that it has loops for. The table is the dispatch.
#pragma once

#include "tessera/backend/reference/op/batch_norm.hpp"
#include "tessera/backend/reference/op/copy.hpp"
#include "tessera/backend/reference/op/cross_entropy.hpp"
#include "tessera/backend/reference/op/dropout.hpp"
#include "tessera/backend/reference/op/elementwise.hpp"
#include "tessera/backend/reference/op/embedding.hpp"
#include "tessera/backend/reference/op/group_norm.hpp"
#include "tessera/backend/reference/op/layer_norm.hpp"
#include "tessera/backend/reference/op/pool.hpp"
#include "tessera/backend/reference/op/product.hpp"
#include "tessera/backend/reference/op/route.hpp"
#include "tessera/backend/reference/op/softmax.hpp"

#include <array>
#include <span>
#include <string>

namespace tessera::reference {

/// Rows of operators, in any order.
template <class Real>
using operator_table = std::span<const operator_row<Real>* const>;

namespace detail {

/// The rows of each header.
template <class Real>
constexpr auto all_rows() {
    // clang-format off
    constexpr std::span<const operator_row<Real>> families[] = {
        batch_norm_rows<Real>,
        copy_rows<Real>,
        cross_entropy_rows<Real>,
        dropout_rows<Real>,
        elementwise_rows<Real>,
        embedding_rows<Real>,
        group_norm_rows<Real>,
        layer_norm_rows<Real>,
        pool_rows<Real>,
        product_rows<Real>,
        route_rows<Real>,
        softmax_rows<Real>,
    };
    // clang-format on
    constexpr std::size_t count = [&] {
        std::size_t n = 0;
        for (const auto& rows : families) {
            n += rows.size();
        }
        return n;
    }();
    std::array<const operator_row<Real>*, count> all{};
    std::size_t n = 0;
    for (const auto& rows : families) {
        for (const operator_row<Real>& r : rows) {
            all[n++] = &r;
        }
    }
    return all;
}

} // namespace detail

/// Those of the library.
template <class Real>
inline constexpr auto library_rows = detail::all_rows<Real>();

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
        if (same_operator(*r->of, record)) {
            return true;
        }
    }
    return record.brings_row_for("reference");
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
