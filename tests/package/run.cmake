# SPDX-License-Identifier: Apache-2.0
# Installs the build tree BUILD into WORK, then configures, builds and runs the consumer project SOURCE against it.

file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/prefix")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}" OUTPUT_QUIET
                COMMAND_ERROR_IS_FATAL ANY)

set(parts execute)
if(HAS_HOST)
  list(APPEND parts host)
endif()
if(HAS_CUDA)
  list(APPEND parts cuda)
endif()
if(HAS_MPI)
  list(APPEND parts mpi)
endif()
if(HAS_IO)
  list(APPEND parts io)
endif()

execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/build" -G "${GENERATOR}"
  "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DCMAKE_PREFIX_PATH=${prefix}"
  "-DOPTIONAL_PARTS=${parts}" "-DCOMPILED=${COMPILED}" COMMAND_ERROR_IS_FATAL ANY)
if(COMPILED AND HAS_HOST)
  list(APPEND parts compiled)
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK}/build" COMMAND_ERROR_IS_FATAL ANY)
foreach(part core ${parts})
  execute_process(COMMAND "${WORK}/build/uses_${part}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# core alone: its headers and its package file, and nothing of the other components
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/core" --component core OUTPUT_QUIET
                COMMAND_ERROR_IS_FATAL ANY)
foreach(folder execute backend io)
  if(EXISTS "${WORK}/core/include/tessera/${folder}")
    message(FATAL_ERROR "the component core installs ${folder}/")
  endif()
endforeach()
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/core_build" -G "${GENERATOR}"
  "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DCMAKE_PREFIX_PATH=${WORK}/core"
  COMMAND_ERROR_IS_FATAL ANY)

# As a subdirectory: configures, and asks for nothing that only those who work on Tessera use.
cmake_path(GET SOURCE PARENT_PATH root)
cmake_path(GET root PARENT_PATH root)
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}/subdirectory" -B "${WORK}/subdirectory" -G "${GENERATOR}"
  "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DTESSERA_SOURCE=${root}"
  OUTPUT_VARIABLE said ERROR_VARIABLE said COMMAND_ERROR_IS_FATAL ANY)
if(said MATCHES "[^a-zA-Z]MPI|openmpi|doctest|CLI11|libbenchmark") # not "compiler"
  message(FATAL_ERROR "a project that adds Tessera is told of what it does not need:\n${said}")
endif()
