// SPDX-License-Identifier: Apache-2.0
// A program for PyTorch as text: program.py, which imports the runtime file.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/torch/program.hpp"
#include "tessera/backend/torch/text.hpp"
#include "tessera/base/error.hpp"

#include <string>
#include <utility>
#include <vector>

namespace tessera::torch {

namespace detail {

std::string list_of_places(const std::vector<located_tile>& all);

std::string text_of_exchange(const exchange_table& x);

std::string text_of_parameter(const parameter_table& p);

/// The optimizer in the words of torch.optim.
std::string text_of_optimizer(const optimizer& o);

/// Ranks of a stage that have the same lines, and these.
using shared_lines = std::vector<std::pair<std::vector<int>, std::vector<std::string>>>;

shared_lines by_lines(const std::map<int, std::vector<std::string>>& stage);

std::string name_of_function(std::size_t stage, std::size_t stages, const std::vector<int>& ranks, std::size_t groups);

std::string stage_functions(const program& p);

std::string text_of_actions(const program& p);

std::string text_of_part(const bucket_part& x);

std::string text_of_gathers(const program& p);

/// What the first steps were, or why nobody knows.
std::string text_of_check(const program& p);

std::string table_of_check(const program& p);

std::string heading(const program& p, std::string_view title, std::string_view by);

} // namespace detail

/// The text of program.py; `title` says what it trains, `by` what wrote it.
std::string to_text(const program& p, std::string_view title, std::string_view by);

} // namespace tessera::torch

#ifndef TESSERA_COMPILED
#include "tessera/backend/torch/write.inl"
#endif

#include "tessera/base/end_header.inl"
