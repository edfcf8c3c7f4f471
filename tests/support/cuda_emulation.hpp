// SPDX-License-Identifier: Apache-2.0
// Runs the kernels of the CUDA backend on the processor: their own text as C++, which cuda_kernels.cpp compiles; text
// that is made of expressions is compiled while the tests run, by the compiler that $CXX names, or c++.
#pragma once

#include "tessera/backend/cuda/kernels/kernel.hpp"

#include <string>
#include <vector>

namespace cuda_emulation {

/// A kernel by its name in the binary.
struct device_function {
    std::string name;
    void (*code)() = nullptr; ///< called by cuda_kernels.cpp
    /// Of text that is compiled while the tests run: all threads of all blocks, which wait for none.
    void (*whole)(unsigned blocks, unsigned threads, const void* arguments) = nullptr;
    bool has_run = false;
    bool has_barriers = false; ///< threads of a block wait for each other: known once it has run
};

/// Compiles the text of kernels and makes them known. Ends the program where that fails.
void compile(const std::string& text);

/// Null where there is none.
device_function* find(const std::string& name);
/// The same; `text`, which has it, is compiled where there is none yet.
device_function* find(const std::string& name, const std::string& text);
/// All that there are.
std::vector<std::string> names();

void launch(device_function& f, unsigned blocks, unsigned threads, const tessera::cuda::kernel_arguments& given);

/// The form for activations of `type`, as the CUDA backend finds it.
void launch(const tessera::cuda::kernel* which, tessera::element type, unsigned blocks, unsigned threads,
            const tessera::cuda::kernel_arguments& given);

} // namespace cuda_emulation
