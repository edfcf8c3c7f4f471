// SPDX-License-Identifier: Apache-2.0
// IEEE 754's binary16 as files have it, as fp32, which holds all of its numbers exactly.
#pragma once
#include "tessera/base/begin_header.inl"

#include <cmath>
#include <cstdint>
#include <limits>

namespace tessera {

float float_of_half(std::uint16_t half);

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/base/half.inl"
#endif

#include "tessera/base/end_header.inl"
