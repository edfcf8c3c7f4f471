# SPDX-License-Identifier: Apache-2.0
# The libraries, each a set of headers and what they need:
#   tessera::core     base to search: needs nothing
#   tessera::execute  core, the executor and the reference backend: threads
#   tessera::host     execute and the host backend: oneDNN and the OpenMP runtime that it uses
#   tessera::mpi      execute and ranks of MPI: the MPI that CMake finds
#   tessera::cuda     execute and the CUDA backend: cudart, cublasLt, NVRTC, cuDNN and NCCL; no nvcc
#   tessera::io       core, files, data sets, plots: zlib; JSON files, traces and reports: nlohmann_json, where it is found;
#                     range_v3.hpp: range-v3, where it is found
# and the tools beside them, which TesseraTools.cmake lists: placement, certified, learned, contest, onnx, torch_export.
# Each is a component of the installed package. What of them is no template is compiled once in tessera::compiled: TesseraCompiled.cmake.

set(TESSERA_INCLUDE_DIR "${PROJECT_SOURCE_DIR}/include")
include(TesseraTools)

# What includes the JSON library, directly or not.
file(GLOB_RECURSE headers RELATIVE "${TESSERA_INCLUDE_DIR}/tessera" CONFIGURE_DEPENDS "${TESSERA_INCLUDE_DIR}/tessera/io/*.hpp")
foreach(header IN LISTS headers)
  file(STRINGS "${TESSERA_INCLUDE_DIR}/tessera/${header}" included_by_${header} REGEX "^#include [\"<](tessera/io|nlohmann)/")
  list(TRANSFORM included_by_${header} REPLACE "^#include [\"<](tessera/)?([^\">]+).*" "\\2")
endforeach()
set(TESSERA_JSON_HEADERS)
set(before "-")
while(NOT before STREQUAL TESSERA_JSON_HEADERS)
  set(before "${TESSERA_JSON_HEADERS}")
  foreach(header IN LISTS headers)
    foreach(other IN LISTS included_by_${header})
      if(NOT header IN_LIST TESSERA_JSON_HEADERS AND (other MATCHES "^nlohmann/" OR other IN_LIST TESSERA_JSON_HEADERS))
        list(APPEND TESSERA_JSON_HEADERS "${header}")
      endif()
    endforeach()
  endforeach()
endwhile()
# What includes the headers of CUDA's libraries, directly or not; the rest of backend/cuda, to the list of calls, needs none.
set(TESSERA_CUDA_HEADERS backend measure/call_timer measure/measure measure/product_search
                         issue/communicators issue/descriptors issue/error issue/gpu_numbers issue/guards issue/handles issue/module issue/prepare
                         issue/prepared_call issue/prepared_fused issue/program)
set(TESSERA_CORE_LAYERS base op net part layout strategy machine task cost schedule plan simulate search)

# tessera_add_library(<name> FOLDERS <folder>... [UMBRELLA <header>...] [WITHOUT <header>...])
# Of the folders a tool has its own headers, and what is no tool all but those of tools. Fragments (*.inl) are installed but are no headers of their own. That
# headers compile alone .ci/headers_alone.py checks.
function(tessera_add_library name)
  cmake_parse_arguments(arg "" "" "FOLDERS;UMBRELLA;WITHOUT" ${ARGN})
  set(globs)
  foreach(folder IN LISTS arg_FOLDERS)
    list(APPEND globs "${TESSERA_INCLUDE_DIR}/tessera/${folder}/*.hpp" "${TESSERA_INCLUDE_DIR}/tessera/${folder}/*.inl")
  endforeach()
  file(GLOB_RECURSE found RELATIVE "${TESSERA_INCLUDE_DIR}/tessera" CONFIGURE_DEPENDS ${globs})
  list(APPEND found ${arg_UMBRELLA})
  if(arg_WITHOUT)
    list(TRANSFORM arg_WITHOUT REPLACE "\\.hpp$" ".inl" OUTPUT_VARIABLE bodies)
    list(REMOVE_ITEM found ${arg_WITHOUT} ${bodies})
  endif()
  set(tool_or_none)
  if(name IN_LIST TESSERA_TOOLS)
    set(tool_or_none ${name})
  endif()
  set(headers)
  set(fragments)
  foreach(path IN LISTS found)
    tessera_tool_of(tool "${path}")
    if(NOT "${tool}" STREQUAL "${tool_or_none}")
      continue()
    elseif(path MATCHES "\\.hpp$")
      list(APPEND headers "${TESSERA_INCLUDE_DIR}/tessera/${path}")
    else()
      list(APPEND fragments "${TESSERA_INCLUDE_DIR}/tessera/${path}")
    endif()
  endforeach()

  add_library(tessera_${name} INTERFACE)
  add_library(tessera::${name} ALIAS tessera_${name})
  target_compile_features(tessera_${name} INTERFACE cxx_std_20)
  target_sources(tessera_${name} INTERFACE FILE_SET HEADERS BASE_DIRS "${TESSERA_INCLUDE_DIR}" FILES ${headers})
  if(fragments)
    target_sources(tessera_${name} INTERFACE FILE_SET fragments TYPE HEADERS BASE_DIRS "${TESSERA_INCLUDE_DIR}"
                                             FILES ${fragments})
  endif()
  set_target_properties(tessera_${name} PROPERTIES EXPORT_NAME ${name})
  if(NOT PROJECT_IS_TOP_LEVEL)
    set_target_properties(tessera_${name} PROPERTIES SYSTEM ON) # a user's -Werror is about the user's code
  endif()
endfunction()

# tessera_add_tool(<name> FOLDERS <folder>... [WITHOUT <header>...]): with what it needs
function(tessera_add_tool name)
  tessera_add_library(${name} ${ARGN})
  string(TOUPPER ${name} upper)
  list(TRANSFORM TESSERA_${upper}_NEEDS PREPEND tessera_ OUTPUT_VARIABLE needs)
  target_link_libraries(tessera_${name} INTERFACE ${needs})
endfunction()

tessera_add_library(core FOLDERS ${TESSERA_CORE_LAYERS} compiled UMBRELLA tessera.hpp version.hpp)
tessera_add_tool(placement FOLDERS search)
tessera_add_tool(certified FOLDERS search)

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
tessera_add_library(execute FOLDERS execute backend/reference)
target_link_libraries(tessera_execute INTERFACE tessera_core Threads::Threads)
tessera_add_tool(learned FOLDERS learned)

tessera_want(TESSERA_WITH_HOST TESSERA_HAS_HOST dnnl "install libdnnl-dev and ocl-icd-opencl-dev" CONFIG)
if(TESSERA_HAS_HOST AND NOT dnnl_VERSION MATCHES "^[23]\\.")
  set(TESSERA_HAS_HOST FALSE)
  set(sentence "oneDNN ${dnnl_VERSION} was found, and the host backend takes 2.x and 3.x; install one of them (libdnnl-dev), or set dnnl_DIR")
  if(TESSERA_WITH_HOST STREQUAL "ON")
    message(FATAL_ERROR "TESSERA_WITH_HOST is ON, but ${sentence}")
  endif()
  message(STATUS "Tessera: ${sentence}; the host backend is left out")
endif()
if(TESSERA_HAS_HOST)
  tessera_add_library(host FOLDERS backend/host UMBRELLA host.hpp host_runtime.hpp)
  # oneDNN runs on GNU OpenMP here, and its CMake target does not say so.
  target_link_libraries(tessera_host INTERFACE tessera_execute DNNL::dnnl gomp)
endif()

# Silent where there is none: few want ranks.
set(TESSERA_HAS_MPI FALSE)
if(NOT TESSERA_WITH_MPI STREQUAL "OFF")
  find_package(MPI QUIET COMPONENTS CXX)
  set(TESSERA_HAS_MPI ${MPI_CXX_FOUND})
  if(TESSERA_WITH_MPI STREQUAL "ON" AND NOT TESSERA_HAS_MPI)
    message(FATAL_ERROR "TESSERA_WITH_MPI is ON, but MPI was not found; install libopenmpi-dev and openmpi-bin, or libmpich-dev and mpich")
  endif()
endif()
if(TESSERA_HAS_MPI)
  tessera_add_library(mpi FOLDERS ranks)
  target_link_libraries(tessera_mpi INTERFACE tessera_execute MPI::MPI_CXX)
endif()

tessera_want(TESSERA_WITH_CUDA TESSERA_HAS_CUDATOOLKIT CUDAToolkit "install the CUDA toolkit" 12.8)
set(TESSERA_HAS_CUDA FALSE)
if(TESSERA_HAS_CUDATOOLKIT)
  tessera_want(TESSERA_WITH_CUDA TESSERA_HAS_CUDNN CUDNN "install cuDNN 9 or set CUDNN_ROOT" 9)
  tessera_want(TESSERA_WITH_CUDA TESSERA_HAS_NCCL NCCL "install NCCL or set NCCL_ROOT" 2.20)
  if(TESSERA_HAS_CUDNN AND TESSERA_HAS_NCCL)
    set(TESSERA_HAS_CUDA TRUE)
    tessera_add_library(cuda FOLDERS backend/cuda UMBRELLA cuda.hpp)
    target_link_libraries(tessera_cuda INTERFACE tessera_execute CUDA::cudart CUDA::cublasLt CUDA::nvrtc CUDNN::cudnn
                                                 NCCL::nccl)
  endif()
endif()

set(TESSERA_HAS_RANGES FALSE)
tessera_want(TESSERA_WITH_IO TESSERA_HAS_IO ZLIB "install zlib1g-dev")
if(TESSERA_HAS_IO)
  tessera_want(TESSERA_WITH_JSON TESSERA_HAS_JSON nlohmann_json "install nlohmann-json3-dev" 3.9)
  set(without)
  if(NOT TESSERA_HAS_JSON)
    set(without ${TESSERA_JSON_HEADERS})
  endif()
  tessera_want(TESSERA_WITH_RANGES TESSERA_HAS_RANGES range-v3 "install librange-v3-dev")
  if(NOT TESSERA_HAS_RANGES)
    list(APPEND without io/data/range_v3.hpp)
  endif()
  tessera_add_library(io FOLDERS io WITHOUT ${without})
  target_link_libraries(tessera_io INTERFACE tessera_core ZLIB::ZLIB)
  if(TESSERA_HAS_JSON)
    target_link_libraries(tessera_io INTERFACE nlohmann_json::nlohmann_json)
    tessera_add_tool(onnx FOLDERS part io)
    tessera_add_tool(torch_export FOLDERS backend io)
  endif()
  tessera_add_tool(contest FOLDERS io WITHOUT ${without})
endif()

include(TesseraCompiled)
add_library(tessera::host_runtime ALIAS tessera_compiled) # its name before 0.3
