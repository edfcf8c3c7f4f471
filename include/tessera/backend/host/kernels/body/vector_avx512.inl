// SPDX-License-Identifier: Apache-2.0
// Included by vector.hpp inside a namespace and a target region; not a header of its own.

inline constexpr int width = 16;     // floats per vector
inline constexpr int registers = 32; // vector registers
inline constexpr bool fused = true;  // multiply and add are one instruction

using vec = float __attribute__((vector_size(64)));
// Typedefs, since an alias-declaration loses `aligned` in clang.
typedef float vec_unaligned __attribute__((vector_size(64), aligned(4), may_alias));
using ivec = std::int32_t __attribute__((vector_size(64)));
using bytes = std::uint8_t __attribute__((vector_size(16)));
typedef std::uint8_t bytes_unaligned __attribute__((vector_size(16), aligned(1), may_alias));
using half = float __attribute__((vector_size(32)));
typedef float half_unaligned __attribute__((vector_size(32), aligned(4), may_alias));
using dvec = double __attribute__((vector_size(64)));

[[gnu::always_inline]] inline vec fma(vec a, vec b, vec c) noexcept {
    return __builtin_ia32_vfmaddps512_mask(a, b, c, static_cast<unsigned short>(0xffff), 4);
}
[[gnu::always_inline]] inline vec broadcast(float s) noexcept {
    return vec{s, s, s, s, s, s, s, s, s, s, s, s, s, s, s, s};
}
[[gnu::always_inline]] inline vec square_root(vec a) noexcept {
    vec r;
    __asm__("vsqrtps %1, %0" : "=v"(r) : "v"(a));
    return r;
}
[[gnu::always_inline]] inline vec interleave_low(vec a, vec b) noexcept {
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
[[gnu::always_inline]] inline vec interleave_high(vec a, vec b) noexcept {
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
[[gnu::always_inline]] inline vec swap_neighbours(vec a) noexcept {
    return __builtin_shufflevector(a, a, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
}
