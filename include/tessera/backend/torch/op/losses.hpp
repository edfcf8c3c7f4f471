// SPDX-License-Identifier: Apache-2.0
// Cross-entropy: a number for each row, whose mean the program takes over the global batch.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/shard_text.hpp"
#include "tessera/op/cross_entropy.hpp"

namespace tessera::torch::detail {

/// Of the classes, in what cross-entropy reads.
inline int class_dimension(const shard_text& s) { return s.input_extents().rank == 3 ? 2 : 1; }

std::string cross_entropy_line(const shard_text& s, std::string&);

/// Of some of the classes: a row's loss is the sum over its shards, of which the one that has the label's class adds
/// all.
std::string cross_entropy_nest(const shard_text& s, int nest, std::string&);

} // namespace tessera::torch::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/op/losses.inl"
#endif

#include "tessera/base/end_header.inl"
