// SPDX-License-Identifier: Apache-2.0
// Products of matrices. cublasLt counts columns first: a row-major [rows, columns] is its columns x rows.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/compose.hpp"

namespace tessera::cuda::detail {

void add_product(const shard_call& s, matrix_product m, std::vector<memory_use> memory);

} // namespace tessera::cuda::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/calls/products.inl"
#endif

#include "tessera/base/end_header.inl"
