# SPDX-License-Identifier: Apache-2.0
# NCCL: the target NCCL::nccl, NCCL_FOUND, NCCL_VERSION. Set NCCL_ROOT (variable or environment) where it is not found.
include("${CMAKE_CURRENT_LIST_DIR}/TesseraFindNvidia.cmake")
tessera_find_nvidia(NCCL nccl SONAME libnccl.so.2 HEADER nccl.h VERSION_HEADER nccl.h LEVEL PATCH HOME NCCL_HOME)
