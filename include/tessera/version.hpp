// SPDX-License-Identifier: Apache-2.0
// The version of the library, for the preprocessor and for programs. CMake reads the three numbers from here.
#pragma once
#include "tessera/base/begin_header.inl"

#define TESSERA_VERSION_MAJOR 0
#define TESSERA_VERSION_MINOR 2
#define TESSERA_VERSION_PATCH 0

/// One number to compare with: `#if TESSERA_VERSION >= 200` asks for 0.2.0.
#define TESSERA_VERSION (TESSERA_VERSION_MAJOR * 10000 + TESSERA_VERSION_MINOR * 100 + TESSERA_VERSION_PATCH)

#define TESSERA_TEXT_OF(x) #x
#define TESSERA_VERSION_TEXT(major, minor, patch)                                                                      \
    TESSERA_TEXT_OF(major) "." TESSERA_TEXT_OF(minor) "." TESSERA_TEXT_OF(patch)

namespace tessera {

/// "0.2.0"
inline constexpr char library_version[] =
    TESSERA_VERSION_TEXT(TESSERA_VERSION_MAJOR, TESSERA_VERSION_MINOR, TESSERA_VERSION_PATCH);

} // namespace tessera

#undef TESSERA_TEXT_OF
#undef TESSERA_VERSION_TEXT

#include "tessera/base/end_header.inl"
