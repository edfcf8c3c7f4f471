# SPDX-License-Identifier: Apache-2.0
# Libraries of NVIDIA's that CMake has no find module for.

# tessera_wheel_folders(<result> <library>): where NVIDIA's Python wheels put a library, <site-packages>/nvidia/<library>, in the active
# environment, the user's folder and the system's.
function(tessera_wheel_folders result library)
  set(folders)
  foreach(root "$ENV{VIRTUAL_ENV}" "$ENV{CONDA_PREFIX}" "$ENV{HOME}/.local" /usr/local /usr)
    if(root)
      file(GLOB found "${root}/lib/python3*/site-packages/nvidia/${library}"
                      "${root}/lib/python3*/dist-packages/nvidia/${library}")
      list(APPEND folders ${found})
    endif()
  endforeach()
  set(${result} ${folders} PARENT_SCOPE)
endfunction()

# tessera_find_nvidia(<package> <library> SONAME <name> HEADER <name> VERSION_HEADER <name> LEVEL <word> HOME <variable>)
# The target <package>::<library>, <package>_FOUND, <package>_VERSION. Looked for where <package>_ROOT (variable or environment) or the
# environment variable HOME says, in the CUDA toolkit, in the system's folders and in the folders of NVIDIA's Python wheels. The version
# is that of <package>_MAJOR, _MINOR and _<LEVEL> in VERSION_HEADER. A macro: the calling find module's results are set where it is.
macro(tessera_find_nvidia package library)
  cmake_parse_arguments(nvidia "" "SONAME;HEADER;VERSION_HEADER;LEVEL;HOME" "" ${ARGN})
  tessera_wheel_folders(nvidia_wheels ${library})
  set(nvidia_hints $ENV{${package}_ROOT} $ENV{${nvidia_HOME}} ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_TARGET_DIR} $ENV{CUDA_HOME})

  find_path(${package}_INCLUDE_DIR ${nvidia_HEADER} HINTS ${nvidia_hints} ${CUDAToolkit_INCLUDE_DIRS} PATHS ${nvidia_wheels}
            PATH_SUFFIXES include)
  find_library(${package}_LIBRARY NAMES ${library} ${nvidia_SONAME} HINTS ${nvidia_hints} ${CUDAToolkit_LIBRARY_DIR}
               PATHS ${nvidia_wheels} PATH_SUFFIXES lib64 lib)
  mark_as_advanced(${package}_INCLUDE_DIR ${package}_LIBRARY)

  if(${package}_INCLUDE_DIR AND EXISTS "${${package}_INCLUDE_DIR}/${nvidia_VERSION_HEADER}")
    file(STRINGS "${${package}_INCLUDE_DIR}/${nvidia_VERSION_HEADER}" nvidia_lines
         REGEX "#define ${package}_(MAJOR|MINOR|${nvidia_LEVEL}) ")
    string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*${nvidia_LEVEL} ([0-9]+).*" "\\1.\\2.\\3" ${package}_VERSION
           "${nvidia_lines}")
  endif()

  include(FindPackageHandleStandardArgs)
  find_package_handle_standard_args(${package} REQUIRED_VARS ${package}_LIBRARY ${package}_INCLUDE_DIR
                                    VERSION_VAR ${package}_VERSION)
  if(${package}_FOUND AND NOT TARGET ${package}::${library})
    add_library(${package}::${library} UNKNOWN IMPORTED)
    set_target_properties(${package}::${library} PROPERTIES IMPORTED_LOCATION "${${package}_LIBRARY}"
                                                            INTERFACE_INCLUDE_DIRECTORIES "${${package}_INCLUDE_DIR}")
  endif()
endmacro()
