// SPDX-License-Identifier: Apache-2.0
// A hash of what lies in memory, fast enough for what goes through it in every step.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/op/mask.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tessera::detail {

/// Some 2 bytes a cycle, in four lanes that do not wait for each other.
std::uint64_t hash_of_bytes(const void* data, std::size_t bytes);

} // namespace tessera::detail

#ifndef TESSERA_COMPILED
#include "tessera/execute/ranks/hash_of_bytes.inl"
#endif

#include "tessera/base/end_header.inl"
