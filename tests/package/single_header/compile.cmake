# SPDX-License-Identifier: Apache-2.0
# tessera_core.hpp is made in BUILD by the target, is the same bytes when it is made again, and a program that includes it alone searches and
# prints as it does with the headers below ROOT/include.
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${WORK}")
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BUILD}" --target tessera_single_header OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
set(made "${BUILD}/single_header/tessera_core.hpp")
file(MAKE_DIRECTORY "${WORK}/elsewhere")
execute_process(COMMAND "${CMAKE_COMMAND}" -E env PYTHONHASHSEED=1 LC_ALL=C "${PYTHON}" "${ROOT}/cmake/packages/single_header.py" --output again.hpp
                WORKING_DIRECTORY "${WORK}/elsewhere" COMMAND_ERROR_IS_FATAL ANY)
file(SHA256 "${made}" first)
file(SHA256 "${WORK}/elsewhere/again.hpp" second)
if(NOT first STREQUAL second)
  message(FATAL_ERROR "the one header, made twice, is not the same")
endif()

# More of the core, as docs/packages.md says it: no other library comes in.
execute_process(COMMAND "${PYTHON}" "${ROOT}/cmake/packages/single_header.py" --output more.hpp tessera/tessera.hpp tessera/search/searches.hpp
                WORKING_DIRECTORY "${WORK}/elsewhere" COMMAND_ERROR_IS_FATAL ANY)
file(STRINGS "${WORK}/elsewhere/more.hpp" named REGEX "search_named\\(std::string_view name")
if(named STREQUAL "")
  message(FATAL_ERROR "the searches by name are not in the header that is made of them")
endif()

file(STRINGS "${made}" includes REGEX "^[ \t]*#[ \t]*include")
list(FILTER includes EXCLUDE REGEX "^#include <[a-z_]+>$")
file(STRINGS "${made}" top LIMIT_COUNT 2)
list(GET top 0 license)
list(GET top 1 version)
if(NOT includes STREQUAL "" OR NOT license STREQUAL "// SPDX-License-Identifier: Apache-2.0" OR NOT version MATCHES "^// Tessera ${VERSION} ")
  message(FATAL_ERROR "the one header begins with '${license}', '${version}' and includes '${includes}'")
endif()

# Both compile at the same time.
separate_arguments(flags UNIX_COMMAND "${FLAGS}")
set(compile "${COMPILER}" ${flags} -std=c++20 -O0 -Wall -Wextra -Wpedantic -Wshadow -Werror "${CMAKE_CURRENT_LIST_DIR}/search.cpp")
cmake_path(GET made PARENT_PATH folder)
execute_process(COMMAND ${compile} -DTESSERA_SINGLE_HEADER "-I${folder}" -o "${WORK}/one"
                COMMAND ${compile} "-I${ROOT}/include" -o "${WORK}/many" COMMAND_ERROR_IS_FATAL ANY)
foreach(program one many)
  execute_process(COMMAND "${WORK}/${program}" OUTPUT_VARIABLE ${program} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
if(NOT one STREQUAL many OR NOT one MATCHES "\nfc1  +linear  +64x50 +reduction/2 ")
  message(FATAL_ERROR "with the one header:\n${one}\nwith those that it is made of:\n${many}")
endif()

# Installed where it is asked for.
execute_process(COMMAND "${CMAKE_COMMAND}" -S "${ROOT}" -B "${WORK}/package" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
  -DTESSERA_SINGLE_HEADER=ON -DTESSERA_BUILD_TESTS=OFF -DTESSERA_BUILD_EXAMPLES=OFF -DTESSERA_WITH_HOST=OFF -DTESSERA_WITH_CUDA=OFF
  -DTESSERA_WITH_IO=OFF -DTESSERA_WITH_MPI=OFF -DTESSERA_BUILD_PYTHON=OFF OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${WORK}/package" OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --install "${WORK}/package" --prefix "${WORK}/prefix" --component single_header
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(SHA256 "${WORK}/prefix/include/tessera_core.hpp" installed)
if(NOT installed STREQUAL first)
  message(FATAL_ERROR "the one header is not installed as it is made")
endif()

# The one header beside the others is refused.
file(WRITE "${WORK}/both.cpp" "#include <tessera/version.hpp>\n#include <tessera_core.hpp>\n")
execute_process(COMMAND "${COMPILER}" ${flags} -std=c++20 -E "${WORK}/both.cpp" "-I${folder}" "-I${ROOT}/include"
                RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE said)
if(status EQUAL 0 OR NOT said MATCHES "takes the place of those below tessera/")
  message(FATAL_ERROR "both kinds of headers in one program are not refused:\n${said}")
endif()
message(STATUS "${one}")
