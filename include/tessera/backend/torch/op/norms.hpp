// SPDX-License-Identifier: Apache-2.0
// Normalizations and softmax. Whole ones are PyTorch's; those whose statistics lie on several shards are written nest
// by nest, with an exchange of statistics in double between, as the plan has it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/shard_text.hpp"
#include "tessera/op/batch_norm.hpp"
#include "tessera/op/group_norm.hpp"
#include "tessera/op/layer_norm.hpp"
#include "tessera/op/softmax.hpp"

namespace tessera::torch::detail {

/// Dimensions that a batch norm's statistics are over.
inline std::string all_but_channels(int rank) { return rank == 2 ? "(0,)" : rank == 4 ? "(0, 2, 3)" : "(0, 2, 3, 4)"; }

/// Elements of a channel in the samples that statistics are taken over.
index_t elements_of_channel(const shard_text& s);

std::string batch_norm_nest(const shard_text& s, int nest, std::string&);

/// Both nests, whose statistics stay where they are made.
std::string batch_norm_line(const shard_text& s, std::string& why);

std::string layer_norm_nest(const shard_text& s, int nest, std::string&);
std::string layer_norm_line(const shard_text& s, std::string&);

std::string group_norm_line(const shard_text& s, std::string&);

/// What a softmax is taken of: with minus infinity behind the row's own number where it is causal.
std::string seen_by_softmax(const shard_text& s);
std::string softmax_line(const shard_text& s, std::string&);
std::string softmax_nest(const shard_text& s, int nest, std::string&);

} // namespace tessera::torch::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/op/norms.inl"
#endif

#include "tessera/base/end_header.inl"
