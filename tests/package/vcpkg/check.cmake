# SPDX-License-Identifier: Apache-2.0
# The port for vcpkg: its CMake steps run, what they install is as vcpkg's checks behind a build ask for, and a consumer builds with it after it
# has been moved to another folder, as vcpkg does.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${WORK}")
file(READ "${ROOT}/cmake/packages/vcpkg/tessera/vcpkg.json" manifest)
string(JSON version GET "${manifest}" version-semver)
if(NOT version STREQUAL VERSION)
  message(FATAL_ERROR "the port has version ${version}, the project ${VERSION}")
endif()

set(features "")
set(parts execute)
foreach(part HOST IO JSON MPI)
  if(HAS_${part})
    string(TOLOWER ${part} feature)
    list(APPEND features ${feature})
  endif()
endforeach()
if(HAS_IO)
  list(APPEND parts io)
endif()
set(packages "${WORK}/packages/tessera")
execute_process(COMMAND "${CMAKE_COMMAND}" "-DROOT=${ROOT}" "-DWORK=${WORK}" "-DPACKAGES=${packages}" "-DGENERATOR=${GENERATOR}"
  "-DCOMPILER=${COMPILER}" "-DFEATURES=${features}" -P "${CMAKE_CURRENT_LIST_DIR}/port.cmake" COMMAND_ERROR_IS_FATAL ANY)

# As vcpkg's checks ask.
set(wrong "")
foreach(file include/tessera/tessera.hpp share/tessera/copyright share/tessera/usage share/tessera/tesseraConfig.cmake
             share/tessera/tesseraConfigVersion.cmake share/tessera/tessera-core.cmake share/tessera/tessera-execute.cmake
             share/tessera/tessera-placement.cmake share/tessera/tessera-certified.cmake share/tessera/tessera-learned.cmake)
  if(NOT EXISTS "${packages}/${file}")
    string(APPEND wrong "there is no ${file}\n")
  endif()
endforeach()
foreach(folder debug lib bin cmake lib/cmake share/cmake share/doc)
  if(EXISTS "${packages}/${folder}")
    string(APPEND wrong "there is ${folder}/\n")
  endif()
endforeach()
file(GLOB_RECURSE files RELATIVE "${packages}" LIST_DIRECTORIES true "${packages}/*")
foreach(file IN LISTS files)
  if(IS_DIRECTORY "${packages}/${file}")
    file(GLOB inside "${packages}/${file}/*")
    if(inside STREQUAL "")
      string(APPEND wrong "the folder ${file} is empty\n")
    endif()
  elseif(file MATCHES "\\.cmake$")
    file(READ "${packages}/${file}" text)
    string(FIND "${text}" "${WORK}" at)
    string(FIND "${text}" "${ROOT}" from)
    if(NOT at EQUAL -1 OR NOT from EQUAL -1)
      string(APPEND wrong "${file} names a folder of this machine\n")
    endif()
  endif()
endforeach()
foreach(part HOST IO MPI)
  string(TOLOWER ${part} component)
  if(HAS_${part} AND NOT EXISTS "${packages}/share/tessera/tessera-${component}.cmake")
    string(APPEND wrong "the feature ${component} does not install its component\n")
  endif()
endforeach()
if(wrong)
  message(FATAL_ERROR "${wrong}")
endif()

file(RENAME "${WORK}/packages" "${WORK}/installed")
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/.." -B "${WORK}/consumer" -G "${GENERATOR}"
  "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}" "-DCMAKE_PREFIX_PATH=${WORK}/installed/tessera" "-DOPTIONAL_PARTS=${parts}"
  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK}/consumer" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
foreach(part core ${parts})
  execute_process(COMMAND "${WORK}/consumer/uses_${part}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()

# The core alone, without features.
execute_process(COMMAND "${CMAKE_COMMAND}" "-DROOT=${ROOT}" "-DWORK=${WORK}/least" "-DPACKAGES=${WORK}/least/tessera" "-DGENERATOR=${GENERATOR}"
  "-DCOMPILER=${COMPILER}" "-DFEATURES=" -P "${CMAKE_CURRENT_LIST_DIR}/port.cmake" COMMAND_ERROR_IS_FATAL ANY)
foreach(component host io mpi cuda contest onnx torch_export)
  if(EXISTS "${WORK}/least/tessera/share/tessera/tessera-${component}.cmake")
    message(FATAL_ERROR "without features the port installs the component ${component}")
  endif()
endforeach()
