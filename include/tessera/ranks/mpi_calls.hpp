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

void check(int code, const char* call);

} // namespace tessera::mpi::detail

#ifndef TESSERA_COMPILED
#include "tessera/ranks/mpi_calls.inl"
#endif

#include "tessera/base/end_header.inl"
