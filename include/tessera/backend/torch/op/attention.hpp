// SPDX-License-Identifier: Apache-2.0
// Attention in PyTorch's functions. Scores are tensors there: PyTorch's own attention knows no split of the keys, and
// draws what it drops by itself.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/shard_text.hpp"
#include "tessera/op/attention.hpp"

namespace tessera::torch::detail {

/// The call that makes a shard's scores, minus infinity for keys that a query does not see. Padded attention's has
/// lengths or a mask besides.
std::string attention_scores(const shard_text& s);

std::string attention_line(const shard_text& s, std::string&);
std::string attention_nest(const shard_text& s, int nest, std::string& why);

/// Weights are numbered by sample, head, query and key.
dropped_numbers dropped_weights(const shard_text& s);

} // namespace tessera::torch::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/op/attention.inl"
#endif

#include "tessera/base/end_header.inl"
