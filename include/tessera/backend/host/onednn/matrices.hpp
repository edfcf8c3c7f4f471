// SPDX-License-Identifier: Apache-2.0
// Products of matrices through oneDNN's sgemm, wherever they lie in their tensors.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_rows.hpp"
#include "tessera/backend/host/choose/candidates.hpp"

namespace tessera::host::detail {

/// One matrix of an operand, by the distances of its elements; all matrices of a call have the same.
struct matrix_view {
    float* data = nullptr;
    index_t rows = 1, columns = 1;
    index_t row_stride = 1, column_stride = 1;

    matrix_view transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};

/// c = factor * a * b + keep * c. One stride of every matrix is 1: the last dimension of a plain tile belongs to its
/// rows or columns.
void multiply_matrices(const matrix_view& a, const matrix_view& b, const matrix_view& c, float factor, float keep = 0);

/// The one way of operators that do this with plain tiles.
void add_matrices(const compute_call& c, format_table&, std::vector<candidate>& out);

} // namespace tessera::host::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/onednn/matrices.inl"
#endif

#include "tessera/base/end_header.inl"
