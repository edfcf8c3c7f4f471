# SPDX-License-Identifier: Apache-2.0
# cuDNN: the target CUDNN::cudnn, CUDNN_FOUND, CUDNN_VERSION. Set CUDNN_ROOT (variable or environment) where it is not found.
include("${CMAKE_CURRENT_LIST_DIR}/TesseraFindNvidia.cmake")
tessera_find_nvidia(CUDNN cudnn SONAME libcudnn.so.9 HEADER cudnn.h VERSION_HEADER cudnn_version.h LEVEL PATCHLEVEL HOME CUDNN_PATH)
