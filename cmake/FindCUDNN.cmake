# SPDX-License-Identifier: Apache-2.0
# cuDNN: the target CUDNN::cudnn, CUDNN_FOUND, CUDNN_VERSION. Looked for where CUDNN_ROOT (variable or environment) says, in the CUDA
# toolkit, in the system's folders and in the folders of NVIDIA's Python wheels.

include("${CMAKE_CURRENT_LIST_DIR}/TesseraWheels.cmake")
tessera_wheel_folders(CUDNN_WHEELS cudnn)
set(CUDNN_HINTS $ENV{CUDNN_ROOT} $ENV{CUDNN_PATH} ${CUDAToolkit_LIBRARY_ROOT} ${CUDAToolkit_TARGET_DIR} $ENV{CUDA_HOME})

find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${CUDNN_HINTS} ${CUDAToolkit_INCLUDE_DIRS} PATHS ${CUDNN_WHEELS}
          PATH_SUFFIXES include)
find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${CUDNN_HINTS} ${CUDAToolkit_LIBRARY_DIR} PATHS ${CUDNN_WHEELS}
             PATH_SUFFIXES lib64 lib)
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY)

if(CUDNN_INCLUDE_DIR AND EXISTS "${CUDNN_INCLUDE_DIR}/cudnn_version.h")
  file(STRINGS "${CUDNN_INCLUDE_DIR}/cudnn_version.h" lines REGEX "#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) ")
  string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*PATCHLEVEL ([0-9]+).*" "\\1.\\2.\\3" CUDNN_VERSION "${lines}")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDNN REQUIRED_VARS CUDNN_LIBRARY CUDNN_INCLUDE_DIR VERSION_VAR CUDNN_VERSION)
if(CUDNN_FOUND AND NOT TARGET CUDNN::cudnn)
  add_library(CUDNN::cudnn UNKNOWN IMPORTED)
  set_target_properties(CUDNN::cudnn PROPERTIES IMPORTED_LOCATION "${CUDNN_LIBRARY}"
                                                INTERFACE_INCLUDE_DIRECTORIES "${CUDNN_INCLUDE_DIR}")
endif()
