// SPDX-License-Identifier: Apache-2.0
// Reads a file whole, and writes one so that a reader sees the old contents or the new ones, never a part.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/file.hpp"

namespace tessera::io {

/// See files::write().
inline void write_file_atomically(const std::string& path, std::string_view text) { files::write(path, text); }

/// See files::require_writable().
inline void require_writable(const std::string& path) { files::require_writable(path); }

/// See files::read().
std::string read_file(const std::string& path, std::size_t most = files::most_bytes);

} // namespace tessera::io

#ifndef TESSERA_COMPILED
#include "tessera/io/files/file.inl"
#endif

#include "tessera/base/end_header.inl"
