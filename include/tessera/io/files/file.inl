// SPDX-License-Identifier: Apache-2.0
// Bodies of file.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/io/files/file.hpp"

namespace tessera::io {

TESSERA_INLINE std::string read_file(const std::string& path, std::size_t most) { return files::read(path, most); }

} // namespace tessera::io

#include "tessera/base/end_header.inl"
