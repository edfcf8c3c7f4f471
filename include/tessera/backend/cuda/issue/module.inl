// SPDX-License-Identifier: Apache-2.0
// Bodies of module.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/issue/module.hpp"

namespace tessera::cuda {

TESSERA_INLINE std::vector<char> compile_kernels(int capability, const std::string& source) {
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

TESSERA_INLINE const std::vector<char>& compiled_kernels(int capability, const std::string& source) {
    static mutex one_at_a_time;
    static std::map<std::pair<int, std::string>, std::vector<char>> known;
    const locked lock(one_at_a_time);
    auto found = known.find({capability, source});
    if (found == known.end()) {
        found = known.emplace(std::pair(capability, source), compile_kernels(capability, source)).first;
    }
    return found->second;
}

TESSERA_INLINE int capability_of(int gpu) {
    int major = 0;
    int minor = 0;
    check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, gpu), "cudaDeviceGetAttribute");
    check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, gpu), "cudaDeviceGetAttribute");
    return major * 10 + minor;
}

TESSERA_INLINE cudaKernel_t kernel_module::find(const kernel& which, element type) const {
    const std::string name = std::string(which.name) + (which.has_bf16 && type == element::bf16 ? "_bf16" : "");
    cudaKernel_t found = nullptr;
    check(cudaLibraryGetKernel(&found, library_of(which).get(), name.c_str()), "cudaLibraryGetKernel");
    return found;
}

TESSERA_INLINE void kernel_module::launch(cudaKernel_t which, int blocks, int threads, const kernel_arguments& a,
                                          cudaStream_t stream) {
    kernel_arguments copy = a;
    void* pointers[] = {&copy};
    check(cudaLaunchKernel(reinterpret_cast<const void*>(which), dim3(static_cast<unsigned>(blocks)),
                           dim3(static_cast<unsigned>(threads)), pointers, 0, stream),
          "cudaLaunchKernel");
}

TESSERA_INLINE library_handle kernel_module::load(const std::vector<char>& binary) {
    cudaLibrary_t library = nullptr;
    check(cudaLibraryLoadData(&library, binary.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          "cudaLibraryLoadData");
    return library_handle(library);
}

TESSERA_INLINE const library_handle& kernel_module::library_of(const kernel& which) const {
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

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
