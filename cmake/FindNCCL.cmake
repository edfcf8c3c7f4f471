# SPDX-License-Identifier: Apache-2.0
# NCCL: the target NCCL::nccl, NCCL_FOUND, NCCL_VERSION. Looked for where NCCL_ROOT (variable or environment) says, in the CUDA
# toolkit, in the system's folders and in the folders of NVIDIA's Python wheels.

include("${CMAKE_CURRENT_LIST_DIR}/TesseraWheels.cmake")
tessera_wheel_folders(NCCL_WHEELS nccl)
set(NCCL_HINTS $ENV{NCCL_ROOT} $ENV{NCCL_HOME} ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_TARGET_DIR} $ENV{CUDA_HOME})

find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${NCCL_HINTS} ${CUDAToolkit_INCLUDE_DIRS} PATHS ${NCCL_WHEELS}
          PATH_SUFFIXES include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${NCCL_HINTS} ${CUDAToolkit_LIBRARY_DIR} PATHS ${NCCL_WHEELS}
             PATH_SUFFIXES lib64 lib)
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)

if(NCCL_INCLUDE_DIR)
  file(STRINGS "${NCCL_INCLUDE_DIR}/nccl.h" lines REGEX "#define NCCL_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCH ([0-9]+).*" "\\1.\\2.\\3" NCCL_VERSION "${lines}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR VERSION_VAR NCCL_VERSION)
if(NCCL_FOUND AND NOT TARGET NCCL::nccl)
  add_library(NCCL::nccl UNKNOWN IMPORTED)
  set_target_properties(NCCL::nccl PROPERTIES IMPORTED_LOCATION "${NCCL_LIBRARY}"
                                              INTERFACE_INCLUDE_DIRECTORIES "${NCCL_INCLUDE_DIR}")
endif()
