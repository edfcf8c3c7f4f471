// SPDX-License-Identifier: Apache-2.0
// Bodies of channel_blocks.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/channel_blocks.hpp"

namespace tessera::host::detail {

TESSERA_INLINE channel_blocks::channel_blocks(const shape& s, int f)
    : samples(s[0]), pixels(s.volume() / (s[0] * s[1])), width(s[1]), channels(s[1]) {
    if (f == format::channels16) {
        blocks = (s[1] + 15) / 16;
        width = 16;
    }
}

} // namespace tessera::host::detail

#include "tessera/base/end_header.inl"
