// SPDX-License-Identifier: Apache-2.0
// Tiles whose channels lie side by side: channels last, and oneDNN's blocks of channels.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/host/call.hpp"

namespace tessera::host::detail {

/// Tiles as [samples][blocks][pixels][channels of a block]; channels last is one block of them all.
struct channel_blocks {
    index_t samples = 0, blocks = 1, pixels = 0, width = 0, channels = 0;

    channel_blocks() = default;
    channel_blocks(const shape& s, int f);
    index_t padded() const { return blocks * width; }
    /// Calls body(place of the first channel, that channel) for every pixel of every block.
    template <class Body>
    void for_each(Body&& body) const {
        for (index_t n = 0; n < samples; ++n) {
            for (index_t b = 0; b < blocks; ++b) {
                for (index_t p = 0; p < pixels; ++p) {
                    body(((n * blocks + b) * pixels + p) * width, b * width);
                }
            }
        }
    }
};

} // namespace tessera::host::detail

#ifndef TESSERA_COMPILED
#include "tessera/backend/host/channel_blocks.inl"
#endif

#include "tessera/base/end_header.inl"
