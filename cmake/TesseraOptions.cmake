# SPDX-License-Identifier: Apache-2.0
# What is built. Tests, examples and benchmarks are for those who work on Tessera; a project that adds Tessera as a
# subdirectory gets the libraries alone.

option(TESSERA_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(TESSERA_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
set(TESSERA_EXAMPLES_OPTIMIZATION -O0 CACHE STRING
    "How examples are optimized in a debug build; -O2 has the compiler's warnings of optimized code")
option(TESSERA_LINK_COMPILED "Tests, examples, benchmarks and the Python package link tessera::compiled; OFF: headers alone" ON)
option(TESSERA_BUILD_BENCHMARKS "Build the benchmarks" OFF)
option(TESSERA_INSTALL "Make install rules and the CMake package" ${PROJECT_IS_TOP_LEVEL})

set(python OFF)
if(PROJECT_IS_TOP_LEVEL)
  set(python AUTO)
endif()
set(TESSERA_BUILD_PYTHON ${python} CACHE STRING "The Python package: AUTO (where Python's headers and pybind11 are found), ON or OFF")

set(TESSERA_WITH_HOST AUTO CACHE STRING "The host backend on oneDNN: AUTO (where it is found), ON or OFF")
set(TESSERA_WITH_CUDA AUTO CACHE STRING "The CUDA backend: AUTO (where CUDA, cuDNN and NCCL are found), ON or OFF")
set(TESSERA_WITH_IO AUTO CACHE STRING "Files, data sets and plots, with zlib: AUTO (where it is found), ON or OFF")
set(TESSERA_WITH_JSON AUTO CACHE STRING "Machine and strategy files, traces, reports, with nlohmann_json: AUTO (where it is found), ON or OFF")
set(TESSERA_WITH_RANGES AUTO CACHE STRING "Views of range-v3 over data sets, and what of tests and examples composes with them: AUTO (where it is found), ON or OFF")
set(TESSERA_WITH_CLI AUTO CACHE STRING "The planner's command line, with CLI11: AUTO (where it is found), ON or OFF")
set(TESSERA_WITH_MPI AUTO CACHE STRING "Ranks, and the benchmark beside MPI: AUTO (where it is found), ON or OFF")
foreach(choice TESSERA_BUILD_PYTHON TESSERA_WITH_HOST TESSERA_WITH_CUDA TESSERA_WITH_IO TESSERA_WITH_JSON TESSERA_WITH_RANGES TESSERA_WITH_CLI TESSERA_WITH_MPI)
  set_property(CACHE ${choice} PROPERTY STRINGS AUTO ON OFF)
  if(NOT "${${choice}}" MATCHES "^(AUTO|ON|OFF)$")
    message(FATAL_ERROR "${choice} is '${${choice}}'; it must be AUTO, ON or OFF")
  endif()
endforeach()

# tessera_want(<choice> <result> <package> <remedy> [find_package arguments...])
# Finds a package as the choice says: ON must find it, AUTO may.
macro(tessera_want choice result package remedy)
  set(${result} FALSE)
  if(NOT ${choice} STREQUAL "OFF")
    find_package(${package} ${ARGN} QUIET)
    if(${package}_FOUND)
      set(${result} TRUE)
    elseif(${choice} STREQUAL "ON")
      message(FATAL_ERROR "${choice} is ON, but ${package} was not found; ${remedy}")
    else()
      message(STATUS "Tessera: ${package} was not found, so what needs it is left out; ${remedy}")
    endif()
  endif()
endmacro()
