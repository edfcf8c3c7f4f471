// SPDX-License-Identifier: Apache-2.0
// The kernels of our own: what they are called, the numbers that they are given, and their code, which is text that
// NVRTC compiles at start. It stands beside what launches it: in this folder what several operators or none have, in
// op/ what belongs to one.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"

namespace tessera::cuda {

inline constexpr int kernel_pointers = 12;
inline constexpr int kernel_integers = 96;
inline constexpr int kernel_reals = 16;

/// Arguments besides pointers. Every kernel takes the same structure, so that a launch is the same code for all.
struct kernel_numbers {
    index_t n[kernel_integers] = {};
    double f[kernel_reals] = {};
};

/// What a kernel is launched with.
struct kernel_arguments {
    void* at[kernel_pointers] = {};
    kernel_numbers numbers;
};

/// What changes from step to step, in device memory so that no launch depends on it.
struct step_values {
    std::uint64_t seed = 0;
    std::uint64_t step = 0;
    double learning_rate = 0;
    double correction1 = 1; ///< Adam: 1 - beta1^t
    double correction2 = 1;
};

/// A kernel of our own. Its code is in a TESSERA_DEVICE_CODE.
struct kernel {
    const char* name;
    bool has_bf16 = false; ///< there is a second one for activations of bf16, whose name ends in _bf16: TYPED_KERNEL
    const char* text =
        nullptr; ///< of an operator of one's own: its kernels, compiled when one of them is first asked for
    const char* family = nullptr; ///< what tables call it, where its name is made; null: its name
};

// Device code as text, by a name. Tests define TESSERA_ALSO_AS_CODE to have it as C++ for the processor as well: so
// there are no preprocessor directives in it, and nothing is included. KERNEL(name) { ... } has `a`, its arguments;
// TYPED_KERNEL(name) makes two kernels of the template name_of<T>(a). Constants and functions of another text may be
// used where that comes before (kernels/source.hpp).
#ifndef TESSERA_ALSO_AS_CODE
#define TESSERA_ALSO_AS_CODE(...)
#endif
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): the one way to have code both as text and, in tests, as code
#define TESSERA_DEVICE_CODE(name, ...)                                                                                 \
    inline constexpr char name[] = #__VA_ARGS__ "\n";                                                                  \
    TESSERA_ALSO_AS_CODE(__VA_ARGS__)
// The same of code that macros make. Its functions are device functions without saying so (see compile_kernels()).
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): as above
#define TESSERA_DEVICE_TEXT(name, ...) TESSERA_DEVICE_CODE(name, __VA_ARGS__)

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
