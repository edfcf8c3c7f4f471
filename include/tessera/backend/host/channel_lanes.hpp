// SPDX-License-Identifier: Apache-2.0
// Tiles whose channels lie side by side: channels last, and oneDNN's blocks of channels.
#pragma once

#include "tessera/backend/host/call.hpp"

namespace tessera::host::detail {

/// Tiles as [samples][groups][pixels][lanes], the lanes being channels.
struct channel_lanes {
    index_t samples = 0, groups = 1, pixels = 0, lanes = 0, channels = 0;

    channel_lanes() = default;
    channel_lanes(const shape& s, int f) : samples(s[0]), pixels(s[2] * s[3]), lanes(s[1]), channels(s[1]) {
        if (f == format::channels16) {
            groups = (s[1] + 15) / 16;
            lanes = 16;
        }
    }
    index_t padded() const { return groups * lanes; }
    /// Calls body(place of lane 0, channel of lane 0) for every pixel of every group.
    template <class Body>
    void for_each(Body&& body) const {
        for (index_t n = 0; n < samples; ++n) {
            for (index_t g = 0; g < groups; ++g) {
                for (index_t p = 0; p < pixels; ++p) {
                    body(((n * groups + g) * pixels + p) * lanes, g * lanes);
                }
            }
        }
    }
};

} // namespace tessera::host::detail
