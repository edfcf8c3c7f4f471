// SPDX-License-Identifier: Apache-2.0
// What of a network, a strategy or an optimizer has no counterpart in a program for PyTorch.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/operators.hpp"
#include "tessera/net/paths.hpp"
#include "tessera/op/optimizer.hpp"
#include "tessera/strategy/strategy_view.hpp"

#include <string>
#include <vector>

namespace tessera::torch {

namespace detail {

void refuse_operators(const graph_view& g, std::vector<std::string>& all);

void refuse_synchronization(const synchronization& s, std::vector<std::string>& all);

void refuse_schedule(const pipeline_schedule& s, std::vector<std::string>& all);

void refuse_optimizer(const optimizer& o, std::vector<std::string>& all);

} // namespace detail

/// Everything at once, each in a sentence; none: it can be said.
std::vector<std::string> refusals(const graph_view& g, const strategy_view& s, const optimizer& update);

/// The words of the error that lists them.
std::string refusal_text(const std::vector<std::string>& all);

} // namespace tessera::torch

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/refusals.inl"
#endif

#include "tessera/base/end_header.inl"
