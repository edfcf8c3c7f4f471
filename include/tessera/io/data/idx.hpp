// SPDX-License-Identifier: Apache-2.0
// Reads IDX files, the format of MNIST and its relatives, plain or compressed by gzip: two zero bytes, a type, a rank,
// the extents as big-endian 32-bit numbers, the elements. Here the elements are unsigned bytes, of rank 1 (labels) or 3
// (images).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/byte_source.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::io {

/// The contents of an IDX file: one extent per dimension, the elements with the last dimension fastest.
struct idx_array {
    std::vector<std::int64_t> extents;
    std::vector<std::uint8_t> elements;
};

/// No file with more elements than this is read (1 GiB; Fashion-MNIST has 45 MiB).
inline constexpr std::int64_t idx_element_limit = std::int64_t{1} << 30U;

namespace detail {

/// Reads the magic number and the extents, and bounds them.
std::vector<std::int64_t> read_idx_extents(byte_source& source, int rank);

} // namespace detail

/// Reads the file, which must hold unsigned bytes in exactly this rank (1 or 3) and nothing else. Throws
/// tessera::error, which names the file, what it has and what was expected, and ends with the remedy. Memory follows
/// the bytes that are there, not the extents that the header claims.
idx_array read_idx(const std::string& path, int rank,
                   std::string_view remedy = "fetch the file again from where it came from");

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/data/idx.inl"
#endif

#include "tessera/base/end_header.inl"
