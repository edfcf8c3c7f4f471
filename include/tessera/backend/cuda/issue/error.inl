// SPDX-License-Identifier: Apache-2.0
// Bodies of error.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/error.hpp"

namespace tessera::cuda {

TESSERA_INLINE api_error::api_error(const char* function, int number, const std::string& text)
    : error("tessera: " + std::string(function) + " failed with error " + std::to_string(number) + ": " + text),
      code(number) {}

TESSERA_INLINE void check(cudaError_t result, const char* function) {
    if (result != cudaSuccess) {
        throw api_error(function, static_cast<int>(result), cudaGetErrorString(result));
    }
}

TESSERA_INLINE void check(cublasStatus_t result, const char* function) {
    if (result != CUBLAS_STATUS_SUCCESS) {
        throw api_error(function, static_cast<int>(result), cublasLtGetStatusString(result));
    }
}

TESSERA_INLINE void check(cudnnStatus_t result, const char* function) {
    if (result != CUDNN_STATUS_SUCCESS) {
        throw api_error(function, static_cast<int>(result), cudnnGetErrorString(result));
    }
}

TESSERA_INLINE void check(ncclResult_t result, const char* function) {
    if (result != ncclSuccess) {
        throw api_error(function, static_cast<int>(result), ncclGetErrorString(result));
    }
}

TESSERA_INLINE void check(nvrtcResult result, const char* function) {
    if (result != NVRTC_SUCCESS) {
        throw api_error(function, static_cast<int>(result), nvrtcGetErrorString(result));
    }
}

TESSERA_INLINE machine_check find_devices() {
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

TESSERA_INLINE int require_devices() {
    const machine_check found = find_devices();
    if (!found) {
        throw error("tessera: the CUDA backend has no GPU to run on: " + found.reason +
                    "; install a driver or use the host backend (tessera/host.hpp)");
    }
    return found.devices;
}

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
