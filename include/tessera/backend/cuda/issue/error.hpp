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
    api_error(const char* function, int number, const std::string& text)
        : error("tessera: " + std::string(function) + " failed with error " + std::to_string(number) + ": " + text),
          code(number) {}
};

inline void check(cudaError_t result, const char* function) {
    if (result != cudaSuccess) {
        throw api_error(function, static_cast<int>(result), cudaGetErrorString(result));
    }
}
inline void check(cublasStatus_t result, const char* function) {
    if (result != CUBLAS_STATUS_SUCCESS) {
        throw api_error(function, static_cast<int>(result), cublasLtGetStatusString(result));
    }
}
inline void check(cudnnStatus_t result, const char* function) {
    if (result != CUDNN_STATUS_SUCCESS) {
        throw api_error(function, static_cast<int>(result), cudnnGetErrorString(result));
    }
}
inline void check(ncclResult_t result, const char* function) {
    if (result != ncclSuccess) {
        throw api_error(function, static_cast<int>(result), ncclGetErrorString(result));
    }
}
inline void check(nvrtcResult result, const char* function) {
    if (result != NVRTC_SUCCESS) {
        throw api_error(function, static_cast<int>(result), nvrtcGetErrorString(result));
    }
}

/// What this machine offers: the number of GPUs, or why there is none.
struct machine_check {
    int devices = 0;
    std::string reason;
    explicit operator bool() const { return devices > 0; }
};

/// Never throws. Without a driver, cudaGetDeviceCount answers cudaErrorInsufficientDriver and leaves the count as it was; anything
/// but success means that there is no device to use.
inline machine_check find_devices() {
    machine_check found;
    int driver = 0;
    int count = 0;
    const cudaError_t version = cudaDriverGetVersion(&driver);
    const cudaError_t result = cudaGetDeviceCount(&count);
    if (result == cudaSuccess && count > 0) {
        found.devices = count;
        return found;
    }
    if (result == cudaSuccess || result == cudaErrorNoDevice) {
        found.reason = "the driver sees no GPU";
    } else if (version != cudaSuccess || driver == 0) {
        found.reason = "no NVIDIA driver is loaded";
    } else {
        found.reason = "cudaGetDeviceCount failed with error " + std::to_string(static_cast<int>(result)) + ": " +
                       cudaGetErrorString(result) + "; the driver supports CUDA " + std::to_string(driver / 1000) +
                       "." + std::to_string(driver % 1000 / 10);
    }
    return found;
}

/// Number of GPUs. Throws tessera::error with the reason where there is none.
inline int require_devices() {
    const machine_check found = find_devices();
    if (!found) {
        throw error("tessera: the CUDA backend has no GPU to run on: " + found.reason +
                    "; install a driver or use the host backend (tessera/host.hpp)");
    }
    return found.devices;
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
