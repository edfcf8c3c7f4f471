// SPDX-License-Identifier: Apache-2.0
// Names of local problems: equal for equal ones, in every process.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/call.hpp"
#include "tessera/op/window.hpp"

#include <string>

namespace tessera::host::detail {

/// Ones where an operator has no window.
std::string window_numbers(const op::windows& a = {}, index_t groups = 1);

std::string padding_numbers(const index_t* begin, const index_t* end, int dimensions);

/// Of a window that walks over the input.
std::string window_problem(const compute_call& c, index_t groups = 1);

} // namespace tessera::host::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/choose/problem.inl"
#endif

#include "tessera/base/end_header.inl"
