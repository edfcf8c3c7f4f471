// SPDX-License-Identifier: Apache-2.0
// The kernels of our own, compiled by NVRTC for an architecture and loaded on a GPU. Compilation needs no GPU; its result is kept for
// the life of the process.
#pragma once

#include "tessera/backend/cuda/handles.hpp"
#include "tessera/backend/cuda/kernels/names.hpp"
#include "tessera/backend/cuda/kernels/source.hpp"

#include <map>
#include <mutex>
#include <vector>

namespace tessera::cuda {

namespace detail {

struct destroy_program {
    nvrtcProgram program = nullptr;
    destroy_program() = default;
    destroy_program(const destroy_program&) = delete;
    destroy_program& operator=(const destroy_program&) = delete;
    ~destroy_program() { (void)nvrtcDestroyProgram(&program); }
};

} // namespace detail

/// The kernels as a binary for compute capability major.minor, such as 90. No fast math, so that exp, log and division are accurate.
/// Throws tessera::error with the compiler's log.
inline std::vector<char> compile_kernels(int capability) {
    detail::destroy_program owner;
    check(nvrtcCreateProgram(&owner.program, kernel_source, "tessera.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
    const std::string architecture = "--gpu-architecture=sm_" + std::to_string(capability);
    const char* options[] = {architecture.c_str(), "--std=c++20"};
    const nvrtcResult result = nvrtcCompileProgram(owner.program, 2, options);
    if (result != NVRTC_SUCCESS) {
        std::size_t size = 0;
        std::string log;
        if (nvrtcGetProgramLogSize(owner.program, &size) == NVRTC_SUCCESS && size > 0) {
            log.resize(size);
            (void)nvrtcGetProgramLog(owner.program, log.data());
        }
        throw error("tessera: the kernels of the CUDA backend do not compile for " + architecture + ": " +
                    nvrtcGetErrorString(result) + "\n" + log);
    }
    std::size_t size = 0;
    check(nvrtcGetCUBINSize(owner.program, &size), "nvrtcGetCUBINSize");
    std::vector<char> binary(size);
    check(nvrtcGetCUBIN(owner.program, binary.data()), "nvrtcGetCUBIN");
    return binary;
}

/// The same, compiled once for each architecture.
inline const std::vector<char>& compiled_kernels(int capability) {
    static std::mutex mutex;
    static std::map<int, std::vector<char>> known;
    const std::lock_guard<std::mutex> lock(mutex);
    auto found = known.find(capability);
    if (found == known.end()) {
        found = known.emplace(capability, compile_kernels(capability)).first;
    }
    return found->second;
}

/// Number of a GPU's architecture: 90 for compute capability 9.0.
inline int capability_of(int gpu) {
    int major = 0;
    int minor = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu), "cudaDeviceGetAttribute");
    check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, gpu), "cudaDeviceGetAttribute");
    return major * 10 + minor;
}

/// The kernels on the GPU that is current.
class kernel_module {
public:
    explicit kernel_module(int gpu) {
        const std::vector<char>& binary = compiled_kernels(capability_of(gpu));
        cudaLibrary_t library = nullptr;
        check(cudaLibraryLoadData(&library, binary.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
              "cudaLibraryLoadData");
        library_ = library_handle(library);
        for (int i = 0; i < kernel_count; ++i) {
            const auto which = static_cast<kernel_id>(i);
            check(cudaLibraryGetKernel(&kernels_[0][i], library, to_text(which)), "cudaLibraryGetKernel");
            if (has_bf16(which)) {
                const std::string name = std::string(to_text(which)) + "_bf16";
                check(cudaLibraryGetKernel(&kernels_[1][i], library, name.c_str()), "cudaLibraryGetKernel");
            }
        }
    }

    /// `type`: of activations.
    void launch(kernel_id which, element type, int blocks, int threads, const kernel_arguments& a,
                cudaStream_t stream) const {
        kernel_arguments copy = a;
        void* pointers[] = {&copy};
        const int form = type == element::bf16 ? 1 : 0;
        check(cudaLaunchKernel(reinterpret_cast<const void*>(kernels_[form][static_cast<int>(which)]),
                               dim3(static_cast<unsigned>(blocks)), dim3(static_cast<unsigned>(threads)), pointers, 0,
                               stream),
              "cudaLaunchKernel");
    }

private:
    library_handle library_;
    cudaKernel_t kernels_[2][kernel_count] = {}; ///< for f32 and bf16
};

} // namespace tessera::cuda
