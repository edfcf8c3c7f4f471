// SPDX-License-Identifier: Apache-2.0
// The kernels of our own: what they are called, the numbers that they are given, and their code, which is text that
// NVRTC compiles at start. It stands beside what launches it: in this folder what several operators or none have, in
// op/ what belongs to one.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/box.hpp"

#include <cstring>
#include <type_traits>

namespace tessera::cuda {

inline constexpr int kernel_pointers = 12;
inline constexpr int kernel_integers = 96;
inline constexpr int kernel_reals = 16;

/// Whether a struct may be laid over the first of `Most` numbers, each of its fields over one or several of them.
template <class Struct, class Number, int Most>
inline constexpr bool is_laid_over = std::is_standard_layout_v<Struct>&& std::is_trivially_copyable_v<Struct> &&
                                     alignof(Struct) == alignof(Number) && sizeof(Struct) % sizeof(Number) == 0 &&
                                     sizeof(Struct) <= Most * sizeof(Number);

/// Arguments besides pointers. Every kernel takes the same structure, so that a launch is the same code for all. Which
/// number means what says a struct beside the kernel's text (TESSERA_KERNELS), laid over the first of them.
struct kernel_numbers {
    index_t n[kernel_integers] = {};
    double f[kernel_reals] = {};

    kernel_numbers() = default;
    template <class Integers>
    explicit kernel_numbers(const Integers& integers) {
        set(integers);
    }
    template <class Integers, class Reals>
    kernel_numbers(const Integers& integers, const Reals& reals) : kernel_numbers(integers) {
        static_assert(is_laid_over<Reals, double, kernel_reals>);
        std::memcpy(f, &reals, sizeof reals);
    }

    template <class Integers>
    void set(const Integers& integers) {
        static_assert(is_laid_over<Integers, index_t, kernel_integers>);
        std::memcpy(n, &integers, sizeof integers);
    }
    template <class Integers>
    Integers as() const {
        static_assert(is_laid_over<Integers, index_t, kernel_integers>);
        Integers integers;
        std::memcpy(&integers, n, sizeof integers);
        return integers;
    }
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
// there are no preprocessor directives in it, and nothing is included. KERNEL(name, Integers, Reals) { ... } has `a`,
// its arguments, a given<Integers, Reals> (kernels/common.hpp); TYPED_KERNEL(name, Integers, Reals) makes two kernels
// of the template name_of<T>(a). Without these structs the numbers are arrays, a.n[k] and a.f[k]. Constants and
// functions of another text may be used where that comes before (kernels/source.hpp).
#ifndef TESSERA_ALSO_AS_CODE
#define TESSERA_ALSO_AS_CODE(...)
#endif
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): the one way to have code both as text and, in tests, as code
#define TESSERA_DEVICE_CODE(name, ...)                                                                                 \
    inline constexpr char name[] = #__VA_ARGS__ "\n";                                                                  \
    TESSERA_ALSO_AS_CODE(__VA_ARGS__)
// Kernels and, before them, the structs of their numbers, which are C++ for the host, too: it fills them by name, and
// the kernels read the same fields. There is no comma in `numbers`.
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): as above
#define TESSERA_KERNELS(name, numbers, ...)                                                                            \
    numbers inline constexpr char name[] = #numbers #__VA_ARGS__ "\n";                                                 \
    TESSERA_ALSO_AS_CODE(numbers __VA_ARGS__)
// As TESSERA_DEVICE_CODE, of code that macros make. Its functions are device functions without saying so (see
// compile_kernels()).
// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): as above
#define TESSERA_DEVICE_TEXT(name, ...) TESSERA_DEVICE_CODE(name, __VA_ARGS__)

} // namespace tessera::cuda

#include "tessera/base/end_header.inl"
