# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE=<project> -DWORK=<folder> -DGENERATOR=<name> -DCOMPILER=<compiler> -P check.cmake
# Configures the libraries alone beside make-believe oneDNNs: 2.x and 3.x are taken; of any other version configuring says one sentence.

cmake_minimum_required(VERSION 3.25)

# configure(<version> <ON or AUTO> <exit code> <what it must say>...): a ! before a word: what it must not say.
function(configure version choice code)
  set(fake "${WORK}/dnnl-${version}")
  file(WRITE "${fake}/dnnl-config.cmake" "if(NOT TARGET DNNL::dnnl)\n  add_library(DNNL::dnnl INTERFACE IMPORTED)\nendif()\n")
  file(WRITE "${fake}/dnnl-config-version.cmake" "set(PACKAGE_VERSION ${version})\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/${version}-${choice}" -G "${GENERATOR}"
            "-DCMAKE_CXX_COMPILER=${COMPILER}" "-Ddnnl_DIR=${fake}" "-DTESSERA_WITH_HOST=${choice}" -DTESSERA_WITH_CUDA=OFF
            -DTESSERA_WITH_IO=OFF -DTESSERA_WITH_MPI=OFF -DTESSERA_BUILD_TESTS=OFF -DTESSERA_BUILD_EXAMPLES=OFF -DTESSERA_BUILD_PYTHON=OFF -DTESSERA_INSTALL=OFF
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT (result EQUAL 0) STREQUAL (code EQUAL 0))
    message(FATAL_ERROR "oneDNN ${version}, ${choice}: configuring ended with ${result}\n${output}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " output "${output}") # CMake breaks long lines
  foreach(words IN LISTS ARGN)
    string(REGEX REPLACE "^!" "" plain "${words}")
    string(FIND "${output}" "${plain}" place)
    if((words MATCHES "^!" AND place GREATER -1) OR (NOT words MATCHES "^!" AND place EQUAL -1))
      message(FATAL_ERROR "oneDNN ${version}, ${choice}: configuring should say '${words}' and says\n${output}")
    endif()
  endforeach()
endfunction()

set(sentence "was found, and the host backend takes 2.x and 3.x")
configure(2.6.3 ON 0 "!${sentence}")
configure(3.13.1 ON 0 "!${sentence}")
configure(4.0.0 AUTO 0 "oneDNN 4.0.0 ${sentence}" "install one of them (libdnnl-dev), or set dnnl_DIR" "the host backend is left out")
configure(4.0.0 ON 1 "TESSERA_WITH_HOST is ON, but oneDNN 4.0.0 ${sentence}")
configure(1.8.0 AUTO 0 "oneDNN 1.8.0 ${sentence}")
configure(20.1.0 AUTO 0 "oneDNN 20.1.0 ${sentence}")
