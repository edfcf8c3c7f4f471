// SPDX-License-Identifier: Apache-2.0
// Bodies of hash_of_bytes.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/ranks/hash_of_bytes.hpp"

namespace tessera::detail {

TESSERA_INLINE std::uint64_t hash_of_bytes(const void* data, std::size_t bytes) {
    std::uint64_t lanes[4] = {0x9e3779b97f4a7c15ULL, 0xbf58476d1ce4e5b9ULL, 0x94d049bb133111ebULL,
                              0xd6e8feb86659fd93ULL};
    const std::uint64_t length = op::mix(bytes);
    const auto* at = static_cast<const std::byte*>(data);
    const auto take = [&](std::size_t count) {
        std::uint64_t words[4] = {};
        std::memcpy(words, at, count);
        for (int k = 0; k < 4; ++k) {
            lanes[k] = op::mix(lanes[k] ^ words[k]); // one multiplication lets high bits of neighbours meet
        }
    };
    for (; bytes >= sizeof lanes; bytes -= sizeof lanes, at += sizeof lanes) {
        take(sizeof lanes);
    }
    if (bytes > 0) {
        take(bytes);
    }
    return op::mix(lanes[0] ^ op::mix(lanes[1] ^ op::mix(lanes[2] ^ op::mix(lanes[3] ^ length))));
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
