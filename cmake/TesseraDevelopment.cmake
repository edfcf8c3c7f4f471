# SPDX-License-Identifier: Apache-2.0
# For those who work on Tessera: warnings, a precompiled header, and programs from folders of sources.

# They are errors in the presets of developers and of CI alone: another compiler's new warning must not end a user's build.
option(TESSERA_WARNINGS_AS_ERRORS "Warnings in tests, examples and benchmarks are errors" OFF)
add_library(tessera_warnings INTERFACE)
target_compile_options(tessera_warnings INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  $<$<BOOL:${TESSERA_WARNINGS_AS_ERRORS}>:-Werror>)
# g++ 12 takes "literal" + std::string for overlapping memory when it optimizes (GCC bug 105651).
target_compile_options(tessera_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

if(TESSERA_HAS_RANGES) # which tests, examples and benchmarks compose enumerations with
  target_link_libraries(tessera_warnings INTERFACE range-v3::range-v3)
endif()

tessera_want(TESSERA_WITH_CLI TESSERA_HAS_CLI CLI11 "install libcli11-dev")
# Tests of ranks are for every MPI that is there, not for the one that CMake chooses alone.
set(TESSERA_MPIS)
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND AND NOT TESSERA_WITH_MPI STREQUAL "OFF")
  foreach(mpi ompi-c mpich)
    pkg_check_modules(TESSERA_${mpi} QUIET IMPORTED_TARGET ${mpi})
    if(TESSERA_${mpi}_FOUND)
      list(APPEND TESSERA_MPIS ${mpi})
    endif()
  endforeach()
endif()
if(NOT TESSERA_MPIS)
  message(STATUS "Tessera: no MPI was found, so ranks are left out; install libopenmpi-dev and openmpi-bin, libmpich-dev and mpich")
endif()

# What tests, examples and the planner take of the compiled library: they are many. One program alone is compiled sooner with headers alone.
add_library(tessera_linked INTERFACE)
if(TESSERA_LINK_COMPILED)
  target_link_libraries(tessera_linked INTERFACE tessera_compiled tessera_compiled_cuda_calls) # which need no CUDA
endif()

# Everything that can be linked here; tests of the core link the core alone.
add_library(tessera_everything INTERFACE)
target_link_libraries(tessera_everything INTERFACE tessera_linked tessera_execute)
foreach(part host io ${TESSERA_TOOLS})
  if(TARGET tessera_${part})
    target_link_libraries(tessera_everything INTERFACE tessera_${part})
  endif()
endforeach()

# tessera_link_zoo(<program> <source>...): the networks of the zoo by name, for sources that include them.
function(tessera_link_zoo program)
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" uses REGEX "include \"(examples/zoo/(zoo|families|measured_runs)|support/small_zoo)\\.hpp\"")
    if(uses)
      target_link_libraries(${program} PRIVATE tessera_zoo)
      return()
    endif()
  endforeach()
endfunction()

# tessera_can_build(<result> <source>...): whether the libraries that the sources include are there.
function(tessera_can_build result)
  set(${result} TRUE PARENT_SCOPE)
  list(JOIN TESSERA_JSON_HEADERS "|" json)
  string(REPLACE "." "\\." json "${json}")
  list(JOIN TESSERA_CUDA_HEADERS "|" vendor)
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" lines REGEX "^ *# *include [<\"](tessera/(host(_runtime)?\\.hpp|backend/host/|cuda\\.hpp|backend/(cuda|torch)/|io/|part/onnx/)|support/cuda_|tessera/ranks/|mpi\\.h|CLI/|range/)")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE ".*[<\"]tessera/([^>\"]+).*" "\\1" path "${line}")
      tessera_tool_of(tool "${path}")
      if((line MATCHES "tessera/(host|backend/host)" AND NOT TARGET tessera_host)
         OR (line MATCHES "tessera/(cuda|backend/cuda/(${vendor}))\\.hpp|support/cuda_(fake|make_believe|runs)" AND NOT TARGET tessera_cuda)
         OR (line MATCHES "tessera/io/" AND NOT TARGET tessera_io)
         OR (line MATCHES "tessera/(${json})" AND NOT TESSERA_HAS_JSON)
         OR (tool AND NOT TARGET tessera_${tool})
         OR (line MATCHES "CLI/" AND NOT TESSERA_HAS_CLI)
         OR (line MATCHES "io/data/range_v3|range/v3/" AND NOT TESSERA_HAS_RANGES)
         OR (line MATCHES "tessera/ranks/|mpi\\.h" AND NOT TESSERA_HAS_MPI))
        set(${result} FALSE PARENT_SCOPE)
        file(RELATIVE_PATH shown "${PROJECT_SOURCE_DIR}" "${source}")
        message(STATUS "Tessera: ${shown} is left out: nothing here provides its ${line}")
        return()
      endif()
    endforeach()
  endforeach()
endfunction()
