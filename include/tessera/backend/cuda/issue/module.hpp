// SPDX-License-Identifier: Apache-2.0
// The kernels of our own, compiled by NVRTC for an architecture and loaded on a GPU. Compilation needs no GPU; its result is kept for
// the life of the process.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/handles.hpp"
#include "tessera/backend/cuda/kernels/source.hpp"
#include "tessera/base/mutex.hpp"

#include <map>
#include <utility>
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
inline std::vector<char> compile_kernels(int capability, const std::string& source = kernel_source()) {
    detail::destroy_program owner;
    check(nvrtcCreateProgram(&owner.program, source.c_str(), "tessera.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
    const std::string architecture = "--gpu-architecture=sm_" + std::to_string(capability);
    const char* options[] = {architecture.c_str(), "--std=c++20", "--device-as-default-execution-space"};
    const nvrtcResult result = nvrtcCompileProgram(owner.program, 3, options);
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

/// The same, compiled once for each architecture and text.
inline const std::vector<char>& compiled_kernels(int capability, const std::string& source = kernel_source()) {
    static mutex one_at_a_time;
    static std::map<std::pair<int, std::string>, std::vector<char>> known;
    const locked lock(one_at_a_time);
    auto found = known.find({capability, source});
    if (found == known.end()) {
        found = known.emplace(std::pair(capability, source), compile_kernels(capability, source)).first;
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
    /// Those of the rows.
    kernel_module(int gpu, row_table rows)
        : capability_(capability_of(gpu)), library_(load(compiled_kernels(capability_, kernel_source(rows)))) {}

    /// The form of a kernel for activations of `type`.
    cudaKernel_t find(const kernel& which, element type) const {
        const std::string name = std::string(which.name) + (which.has_bf16 && type == element::bf16 ? "_bf16" : "");
        cudaKernel_t found = nullptr;
        check(cudaLibraryGetKernel(&found, library_of(which).get(), name.c_str()), "cudaLibraryGetKernel");
        return found;
    }

    static void launch(cudaKernel_t which, int blocks, int threads, const kernel_arguments& a, cudaStream_t stream) {
        kernel_arguments copy = a;
        void* pointers[] = {&copy};
        check(cudaLaunchKernel(reinterpret_cast<const void*>(which), dim3(static_cast<unsigned>(blocks)),
                               dim3(static_cast<unsigned>(threads)), pointers, 0, stream),
              "cudaLaunchKernel");
    }

private:
    static library_handle load(const std::vector<char>& binary) {
        cudaLibrary_t library = nullptr;
        check(cudaLibraryLoadData(&library, binary.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
              "cudaLibraryLoadData");
        return library_handle(library);
    }
    /// Kernels of an operator of one's own are a library of their own, which is loaded when one of them is first asked for.
    const library_handle& library_of(const kernel& which) const {
        if (which.text == nullptr) {
            return library_;
        }
        const locked lock(mutex_);
        auto found = own_.find(which.text);
        if (found == own_.end()) {
            found = own_.emplace(which.text, load(compiled_kernels(capability_, source_of(which.text)))).first;
        }
        return found->second;
    }

    int capability_;
    library_handle library_;
    mutable mutex mutex_;
    mutable std::map<const char*, library_handle> own_;
};

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
