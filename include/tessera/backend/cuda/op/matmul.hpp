// SPDX-License-Identifier: Apache-2.0
// Products of two activations, a matrix for every sample and head. Heads are never moved in memory: where they lie side
// by side in the channels, they are matrices of a batch with a leading dimension.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"
#include "tessera/op/matmul.hpp"

#include <cmath>
#include <numeric>

namespace tessera::cuda::detail {

/// The matrices of an operand, row-major: elements from row to row, head to head and sample to sample.
struct matrix_side {
    memory_use memory;
    index_t row = 0;
    index_t head = 0;
    index_t sample = 0;
    bool transposed = false;
};

/// Matrices of the shard, and the factor of its products.
struct matmul_extents {
    index_t samples = 1;
    index_t heads = 1;
    index_t rows = 1;
    index_t columns = 1;
    index_t summed = 1;
    float scale = 1;
};

/// In the order of the loops: samples, heads where there are any, rows, columns, what is summed over (op/matmul.hpp).
matmul_extents extents_of_matmul(const shard_call& s);

matrix_side side_of(const shard_call& s, int o, memory_use memory, bool transposed);

/// to[rows, columns] = scale * x[rows, summed] y[summed, columns] of all samples and heads. cublasLt counts columns
/// first, so its first factor is y. A batch has one distance between its matrices: samples and heads together where
/// that is so in all three operands, else the more numerous of them, in as many calls as there are of the other.
void add_products(const shard_call& s, const matmul_extents& e, const matrix_side& x, const matrix_side& y,
                  const matrix_side& to);

void matmul_forward(const shard_call& s);

/// Of z = x y: dx = dz y^T and dy = x^T dz; where x is stored as its transpose, so is dx, which is y dz^T then.
void matmul_backward(const shard_call& s);

} // namespace tessera::cuda::detail

namespace tessera::cuda {

inline constexpr operator_row matmul_row{
    .of = &op::matmul_record,
    .forward = detail::matmul_forward,
    .backward = detail::matmul_backward,
    .calls_forward = "cublasLtMatmul",
    .calls_backward = "cublasLtMatmul",
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/op/matmul.inl"
#endif

#include "tessera/base/end_header.inl"
