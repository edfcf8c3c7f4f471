// SPDX-License-Identifier: Apache-2.0
// oneDNN makes machine code when primitives are made, and some when they first run, and does not look whether there was memory for it: it writes to
// address 0. So that is asked before.
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
inline void require_headroom() {
    void* const there = mmap(nullptr, headroom_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (there == MAP_FAILED) {
        throw error("tessera: less than " + std::to_string(headroom_bytes >> 20U) +
                    " MB of memory are left, which oneDNN takes for what it prepares; use smaller batches or fewer "
                    "devices, or raise the limit of the process");
    }
    munmap(there, headroom_bytes);
}

} // namespace tessera::host

#include "tessera/base/end_header.inl"
