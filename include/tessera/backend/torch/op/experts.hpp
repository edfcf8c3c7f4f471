// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts: the mask by which tokens are dispatched and combined, and the experts' layers.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/shard_text.hpp"
#include "tessera/op/expert.hpp"

namespace tessera::torch::detail {

std::string text_of_range(interval i);

std::string route_line(const shard_text& s, std::string&);

std::string expert_linear_line(const shard_text& s, std::string& why);

} // namespace tessera::torch::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/op/experts.inl"
#endif

#include "tessera/base/end_header.inl"
