// SPDX-License-Identifier: Apache-2.0
// The kernels of our own, compiled by NVRTC for an architecture and loaded on a GPU. Compilation needs no GPU; its
// result is kept for the life of the process.
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

/// The kernels as a binary for compute capability major.minor, such as 90. No fast math, so that exp, log and division
/// are accurate. Throws tessera::error with the compiler's log.
std::vector<char> compile_kernels(int capability, const std::string& source = kernel_source());

/// The same, compiled once for each architecture and text.
const std::vector<char>& compiled_kernels(int capability, const std::string& source = kernel_source());

/// Number of a GPU's architecture: 90 for compute capability 9.0.
int capability_of(int gpu);

/// The kernels on the GPU that is current.
class kernel_module {
public:
    /// Those of the rows.
    kernel_module(int gpu, row_table rows)
        : capability_(capability_of(gpu)), library_(load(compiled_kernels(capability_, kernel_source(rows)))) {}

    /// The form of a kernel for activations of `type`.
    cudaKernel_t find(const kernel& which, element type) const;

    static void launch(cudaKernel_t which, int blocks, int threads, const kernel_arguments& a, cudaStream_t stream);

private:
    static library_handle load(const std::vector<char>& binary);
    /// Kernels of an operator of one's own are a library of their own, which is loaded when one of them is first asked
    /// for.
    const library_handle& library_of(const kernel& which) const;

    int capability_;
    library_handle library_;
    mutable mutex mutex_;
    mutable std::map<const char*, library_handle> own_;
};

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/issue/module.inl"
#endif

#include "tessera/base/end_header.inl"
