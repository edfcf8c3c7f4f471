// SPDX-License-Identifier: Apache-2.0
// Products of matrices, and tables that are looked up.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/shard_text.hpp"
#include "tessera/op/embedding.hpp"
#include "tessera/op/linear.hpp"
#include "tessera/op/matmul.hpp"

namespace tessera::torch::detail {

std::string linear_line(const shard_text& s, std::string&);

/// The channels of a side of a product that has its heads side by side, as heads. A shard may have some of the channels
/// that are summed over: of each head, so that its region holds those between as well.
std::string heads_of(const shard_text& s, int side, index_t heads);

std::string matmul_line(const shard_text& s, std::string&);

/// Of a part of the table: rows that lie elsewhere are zeros, and parts add up.
std::string embedding_line(const shard_text& s, std::string&);

std::string position_embedding_line(const shard_text& s, std::string&);

} // namespace tessera::torch::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/op/products.inl"
#endif

#include "tessera/base/end_header.inl"
