// SPDX-License-Identifier: Apache-2.0
// What an exception says of a broken rule that no layer is to blame for.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"
#include "tessera/base/rules.hpp"

#include <string>

namespace tessera {

namespace detail {

/// Appends the action of a schedule, if it is one that is wrong, and the numbers.
void append_numbers(std::string& text, const problem& p);

} // namespace detail

/// The words of a broken rule with the numbers: "tessera: ... [forward of stage 0, micro-batch 2, found 2, needed 1]".
std::string to_text(const problem& p);

/// Throws tessera::error with these words where a rule is broken.
void require(const problem& p);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/base/problem_text.inl"
#endif

#include "tessera/base/end_header.inl"
