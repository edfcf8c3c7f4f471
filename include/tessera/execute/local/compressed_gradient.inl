// SPDX-License-Identifier: Apache-2.0
// Bodies of compressed_gradient.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/compressed_gradient.hpp"

namespace tessera {

TESSERA_INLINE gradient_compression::gradient_compression(const plan& p, const task& t, const addresses& where)
    : how_(p.compress), gradient_(reinterpret_cast<const float*>(where[t.reads[0]])),
      residual_(reinterpret_cast<float*>(where[t.params().state])), words_(where[t.writes[0]]),
      room_(t.scratch >= 0 ? where[t.scratch] : nullptr), elements_(p.tiles[to_size(t.params().state)].elements) {}

TESSERA_INLINE void gradient_compression::run() {
    codes::compress(how_, gradient_, residual_, elements_, words_, reinterpret_cast<std::int32_t*>(room_));
}

TESSERA_INLINE gradient_decompression::gradient_decompression(const plan& p, const task& t, const addresses& where)
    : how_(p.compress) {
    for_each_part(t, [&](const task& one) {
        sums_.push_back(
            {reinterpret_cast<float*>(where[one.writes[0]]), p.tiles[to_size(one.writes[0])].region.volume(), {}});
        for (const int r : one.reads) {
            sums_.back().from.push_back(where[r]);
        }
    });
}

TESSERA_INLINE void gradient_decompression::run() {
    for (const sum& s : sums_) {
        std::memset(s.to, 0, to_size(s.elements) * sizeof(float));
        for (const std::byte* words : s.from) {
            codes::add_decompressed(how_, words, s.to, s.elements);
        }
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
