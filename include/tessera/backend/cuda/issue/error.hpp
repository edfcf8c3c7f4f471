// SPDX-License-Identifier: Apache-2.0
// Every failure of a CUDA library as tessera::error: the function that failed, its code, and the library's own text.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/error.hpp"

#include <string>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>
#include <nccl.h>
#include <nvrtc.h>

namespace tessera::cuda {

/// An error of a library; `code` is the library's number.
struct api_error : error {
    int code;
    api_error(const char* function, int number, const std::string& text);
};

void check(cudaError_t result, const char* function);
void check(cublasStatus_t result, const char* function);
void check(cudnnStatus_t result, const char* function);
void check(ncclResult_t result, const char* function);
void check(nvrtcResult result, const char* function);

/// What this machine offers: the number of GPUs, or why there is none.
struct machine_check {
    int devices = 0;
    std::string reason;
    explicit operator bool() const { return devices > 0; }
};

/// Never throws. Without a driver, cudaGetDeviceCount answers cudaErrorInsufficientDriver and leaves the count as it
/// was; anything but success means that there is no device to use.
machine_check find_devices();

/// Number of GPUs. Throws tessera::error with the reason where there is none.
int require_devices();

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/issue/error.inl"
#endif

#include "tessera/base/end_header.inl"
