# SPDX-License-Identifier: Apache-2.0
# Read by what Conan makes for consumers: tessera::mpi brings the system's MPI along.
find_package(MPI QUIET COMPONENTS CXX)
if(MPI_CXX_FOUND)
  set_property(TARGET tessera::mpi APPEND PROPERTY INTERFACE_LINK_LIBRARIES MPI::MPI_CXX)
else()
  message(WARNING "tessera::mpi needs MPI; install libopenmpi-dev and openmpi-bin, or libmpich-dev and mpich")
endif()
