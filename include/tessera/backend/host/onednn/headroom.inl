// SPDX-License-Identifier: Apache-2.0
// Bodies of headroom.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/onednn/headroom.hpp"

namespace tessera::host {

TESSERA_INLINE void require_headroom() {
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
