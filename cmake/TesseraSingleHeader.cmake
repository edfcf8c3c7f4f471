# SPDX-License-Identifier: Apache-2.0
# tessera_core.hpp, the core as one header: the target tessera_single_header writes it into the folder single_header/ of the build.
# TESSERA_SINGLE_HEADER builds it with everything else and installs it beside the others.

option(TESSERA_SINGLE_HEADER "Make and install tessera_core.hpp, the core as one header; takes Python 3" OFF)

find_package(Python3 3.9 COMPONENTS Interpreter QUIET)
if(NOT Python3_FOUND)
  if(TESSERA_SINGLE_HEADER)
    message(FATAL_ERROR "TESSERA_SINGLE_HEADER is ON, but Python 3.9 or later was not found; install python3")
  endif()
  return()
endif()

set(single_header "${PROJECT_BINARY_DIR}/single_header/tessera_core.hpp")
get_target_property(parts tessera_core HEADER_SET)
add_custom_command(OUTPUT "${single_header}"
  COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/packages/single_header.py" --output "${single_header}"
  DEPENDS "${PROJECT_SOURCE_DIR}/cmake/packages/single_header.py" ${parts}
  COMMENT "Writing tessera_core.hpp" VERBATIM)
if(TESSERA_SINGLE_HEADER)
  add_custom_target(tessera_single_header ALL DEPENDS "${single_header}")
  install(FILES "${single_header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT single_header)
else()
  add_custom_target(tessera_single_header DEPENDS "${single_header}")
endif()
