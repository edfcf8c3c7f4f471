// SPDX-License-Identifier: Apache-2.0
// Bodies of crc32.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/crc32.hpp"

namespace tessera::io::detail {

TESSERA_INLINE std::uint32_t crc_of_zlib::by_table(std::uint32_t before, const unsigned char* bytes,
                                                   std::size_t count) {
    return static_cast<std::uint32_t>(::crc32_z(before, bytes, count));
}

TESSERA_INLINE std::uint32_t crc_of_castagnoli::by_table(std::uint32_t before, const unsigned char* bytes,
                                                         std::size_t count) {
    std::uint32_t r = ~before;
    for (std::size_t i = 0; i < count; ++i) {
        r = (r >> 8U) ^ table[(r ^ bytes[i]) & 0xffU];
    }
    return ~r;
}

} // namespace tessera::io::detail

#include "tessera/base/end_header.inl"
