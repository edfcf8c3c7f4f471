// SPDX-License-Identifier: Apache-2.0
// How a program of gpu_check begins: options, the machine, and errors.
#pragma once

#include "benchmarks/gpu_check/options.hpp"

#include <exception>

namespace gpu_check {

inline constexpr int skipped = 77; ///< what CTest and Automake take for skipped

template <class Part>
int start(int count, char** words, Part&& part) {
    options o;
    try {
        o = read_options(count, words);
    } catch (const ts::error& e) {
        std::fprintf(stderr, "gpu_check: %s\n", e.what());
        return 2;
    }
    try {
        const ts::cuda::machine_check found = ts::cuda::find_devices();
        if (!found) {
            std::printf("gpu_check: nothing was run: %s\n", found.reason.c_str());
            return skipped;
        }
        cudaDeviceProp gpu{};
        ts::cuda::check(cudaGetDeviceProperties(&gpu, 0), "cudaGetDeviceProperties");
        int runtime = 0;
        ts::cuda::check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
        int nccl = 0;
        ts::cuda::check(ncclGetVersion(&nccl), "ncclGetVersion");
        std::printf("%d x %s, %.0f GiB, compute capability %d.%d; CUDA %d, cuDNN %zu, cublasLt %zu, NCCL %d; %s\n",
                    found.devices, gpu.name, static_cast<double>(gpu.totalGlobalMem) / (1 << 30), gpu.major, gpu.minor,
                    runtime, cudnnGetVersion(), cublasLtGetVersion(), nccl, o.precision.c_str());
        std::fflush(stdout);
        return part(o);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "gpu_check: %s\n", e.what());
        return 1;
    }
}

} // namespace gpu_check
