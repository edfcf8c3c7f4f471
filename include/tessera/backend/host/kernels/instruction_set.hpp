// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include <cstdint>

/// Which vector instructions the host kernels may use, decided once per process.
namespace tessera::host::kernels {

/// Vector instructions that a kernel was compiled for. `portable` is what the compiler flags allow anyway.
enum class instruction_set : std::uint8_t { portable, avx2, avx512 };

/// Samples that sit side by side in the innermost dimension of the blocked format [ceil(N/16)][C][H][W][16].
inline constexpr int block_samples = 16;

/// The best instruction set that this processor and its operating system offer. Asks the processor.
[[nodiscard]] inline instruction_set detect_instruction_set() noexcept {
#if defined(__x86_64__) && defined(__GNUC__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
        return instruction_set::avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return instruction_set::avx2;
#endif
    return instruction_set::portable;
}

/// The instruction set that the kernels use: detect_instruction_set(), or a lower one for tests. Change it only while
/// no kernel runs, and never above what detect_instruction_set() returns.
[[nodiscard]] inline instruction_set& active_instruction_set() noexcept {
    static instruction_set chosen = detect_instruction_set();
    return chosen;
}

} // namespace tessera::host::kernels

#include "tessera/base/end_header.inl"
