// SPDX-License-Identifier: Apache-2.0
// MPI's header, and its calls' errors as exceptions.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"

#include <string>

#ifndef OMPI_SKIP_MPICXX // the C++ interface that MPI 3 has dropped
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

namespace tessera::mpi::detail {

inline void check(int code, const char* call) {
    if (code != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING] = "";
        int length = 0;
        MPI_Error_string(code, text, &length);
        throw error(std::string("tessera: ") + call + " failed: " + text);
    }
}

} // namespace tessera::mpi::detail

#include "tessera/base/end_header.inl"
