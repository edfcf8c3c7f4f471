// SPDX-License-Identifier: Apache-2.0
// oneDNN makes machine code when primitives are made, and some when they first run, and does not look whether there was
// memory for it: it writes to address 0. So that is asked before.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"

#include <cstddef>
#include <string>

#include <sys/mman.h>

namespace tessera::host {

/// What the code of a primitive and what it is made from may take, with all that is made the first time.
inline constexpr std::size_t headroom_bytes = std::size_t{64} << 20U;

/// Throws tessera::error unless so much more memory can be had (none is taken; some microseconds).
void require_headroom();

} // namespace tessera::host

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/onednn/headroom.inl"
#endif

#include "tessera/base/end_header.inl"
