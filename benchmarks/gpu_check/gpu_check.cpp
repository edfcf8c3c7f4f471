// SPDX-License-Identifier: Apache-2.0
// What a GPU has to show, in three parts of a few minutes each, a table for each:
//
//     gpu_check correctness [strategies]      numbers of one device with 1 to 8 virtual shards on one card, and the operator table
//     gpu_check operators                     kernels, transfers and dispatch of single operators
//     gpu_check networks [peer.py]            training steps, beside PyTorch on the same card where peer.py can run
//
// Needs CUDA, cuDNN, NCCL and a C++20 compiler. Without CMake, from the repository's root:
//
//     g++ -std=c++20 -O2 -Iinclude -Itests -I. -I$CUDA_HOME/include benchmarks/gpu_check/gpu_check.cpp -L$CUDA_HOME/lib64
//         -lcudart -lcublasLt -lcudnn -lnccl -lnvrtc -lpthread -o gpu_check
#include "tessera/cuda.hpp"

#include "benchmarks/gpu_check/correctness.hpp"
#include "benchmarks/gpu_check/networks.hpp"
#include "benchmarks/gpu_check/operators.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

int main(int argc, char** argv) {
    const std::string part = argc > 1 ? argv[1] : "";
    try {
        const tessera::cuda::machine_check found = tessera::cuda::find_devices();
        if (!found) {
            std::printf("gpu_check: nothing was run: %s\n", found.reason.c_str());
            return 77; // what CTest and Automake take for skipped
        }
        cudaDeviceProp gpu{};
        tessera::cuda::check(cudaGetDeviceProperties(&gpu, 0), "cudaGetDeviceProperties");
        std::printf("%s, %.0f GiB, compute capability %d.%d\n", gpu.name,
                    static_cast<double>(gpu.totalGlobalMem) / (1 << 30), gpu.major, gpu.minor);
        if (part == "correctness") {
            return gpu_check::correctness(argc > 2 ? std::atoi(argv[2]) : 16);
        }
        if (part == "operators") {
            return gpu_check::operators();
        }
        if (part == "networks") {
            return gpu_check::all_networks(argc > 2 ? argv[2] : "");
        }
    } catch (const std::exception& e) {
        std::fprintf(stderr, "gpu_check: %s\n", e.what());
        return 1;
    }
    std::fprintf(stderr, "usage: gpu_check correctness [strategies] | operators | networks [peer.py]\n");
    return 2;
}
