// SPDX-License-Identifier: Apache-2.0
// A shape as a person reads it, and as names of problems have it.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"

#include <string>

namespace tessera::detail {

/// "64x10x24"; of a scalar "".
std::string text_of(const shape& s);

} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/base/shape_text.inl"
#endif

#include "tessera/base/end_header.inl"
