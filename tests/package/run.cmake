# SPDX-License-Identifier: Apache-2.0
# Installs the build tree BUILD into WORK, then configures, builds and runs the consumer project SOURCE against it.

file(REMOVE_RECURSE "${WORK}")
set(prefix "${WORK}/prefix")
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}" OUTPUT_QUIET
                COMMAND_ERROR_IS_FATAL ANY)

include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/TesseraTools.cmake")
set(parts execute)
set(tools ${TESSERA_TOOLS})
if(NOT HAS_JSON)
  list(REMOVE_ITEM tools onnx torch_export)
endif()
if(NOT HAS_IO)
  list(REMOVE_ITEM tools onnx torch_export contest)
endif()
list(APPEND parts ${tools})
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
foreach(folder execute backend io learned part/onnx search/certified search/placement)
  if(EXISTS "${WORK}/core/include/tessera/${folder}")
    message(FATAL_ERROR "the component core installs ${folder}/")
  endif()
endforeach()
execute_process(COMMAND "${COMPILER}" -std=c++20 -fsyntax-only "-I${WORK}/core/include" "${SOURCE}/uses_core.cpp" COMMAND_ERROR_IS_FATAL ANY)

# Every tool beside what it needs and nothing else: it has headers of its own alone, and all that they include are there.
foreach(tool IN LISTS tools)
  set(alone "${WORK}/tools/${tool}")
  set(components "")
  set(pending ${tool})
  while(pending)
    list(POP_FRONT pending component)
    list(APPEND components ${component})
    string(TOUPPER ${component} upper)
    list(APPEND pending ${TESSERA_${upper}_NEEDS})
  endwhile()
  list(APPEND components core)
  list(REMOVE_DUPLICATES components)
  set(includes "")
  foreach(component IN LISTS components)
    execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${alone}" --component ${component} OUTPUT_QUIET
                    COMMAND_ERROR_IS_FATAL ANY)
    if(NOT component STREQUAL tool)
      continue()
    endif()
    file(GLOB_RECURSE headers RELATIVE "${alone}/include/tessera" "${alone}/include/tessera/*")
    foreach(header IN LISTS headers)
      tessera_tool_of(owner "${header}")
      if(NOT "${owner}" STREQUAL "${tool}")
        message(FATAL_ERROR "the component ${tool} installs ${header}")
      elseif(header MATCHES "\\.hpp$")
        string(APPEND includes "#include <tessera/${header}>\n")
      endif()
    endforeach()
  endforeach()
  if(includes STREQUAL "")
    message(FATAL_ERROR "the component ${tool} has no header")
  endif()
  file(WRITE "${alone}/all.cpp" "${includes}")
  execute_process(COMMAND "${COMPILER}" -std=c++20 -M "-I${alone}/include" "${alone}/all.cpp" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
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
