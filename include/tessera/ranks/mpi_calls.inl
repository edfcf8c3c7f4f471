// SPDX-License-Identifier: Apache-2.0
// Bodies of mpi_calls.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/ranks/mpi_calls.hpp"

namespace tessera::mpi::detail {

TESSERA_INLINE void check(int code, const char* call) {
    if (code != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        MPI_Error_string(code, text, &length);
        throw error(std::string("tessera: ") + call + " failed: " + text);
    }
}

} // namespace tessera::mpi::detail

#include "tessera/base/end_header.inl"
