# SPDX-License-Identifier: Apache-2.0
# Files that headers hold as text: cmake [-D CHECK=ON] -P cmake/TesseraEmbed.cmake
#
# Writes the C++ string of each, which the tree has too, so that headers alone are enough to compile a program. With CHECK it writes nothing, and says which
# strings are not what their files are. The target tessera_embed writes them, the test structure.embedded checks them.

cmake_minimum_required(VERSION 3.25)

set(include "${CMAKE_CURRENT_LIST_DIR}/../include/tessera")
set(texts backend/torch/tessera_runtime.py=backend/torch/runtime_text.inl)

foreach(pair IN LISTS texts)
  string(REPLACE "=" ";" pair "${pair}")
  list(GET pair 0 source)
  list(GET pair 1 fragment)
  cmake_path(GET source FILENAME name)
  file(READ "${include}/${source}" text)
  if(text MATCHES "\\)embedded\"")
    message(FATAL_ERROR "${source} has what ends its string: )embedded\"")
  endif()
  string(CONCAT wanted "// SPDX-License-Identifier: Apache-2.0\n"
                       "// ${name} as a string, written by cmake -P cmake/TesseraEmbed.cmake.\n"
                       "// clang-format off\n"
                       "R\"embedded(${text})embedded\"\n")
  set(have "")
  if(EXISTS "${include}/${fragment}")
    file(READ "${include}/${fragment}" have)
  endif()
  if(have STREQUAL wanted)
    continue()
  endif()
  if(CHECK)
    message(FATAL_ERROR "${fragment} is not ${source}; run cmake -P cmake/TesseraEmbed.cmake")
  endif()
  file(WRITE "${include}/${fragment}" "${wanted}")
  message(STATUS "written: ${fragment}")
endforeach()
