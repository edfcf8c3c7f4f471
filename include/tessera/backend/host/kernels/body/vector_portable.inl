// SPDX-License-Identifier: Apache-2.0
// Included by vector.hpp inside a namespace; not a header of its own.

inline constexpr int width = 4;      // floats per vector
inline constexpr int registers = 16; // vector registers
inline constexpr bool fused = false; // multiply and add are two instructions

using vec = float __attribute__((vector_size(16)));
// Typedefs, since an alias-declaration loses `aligned` in clang.
typedef float vec_unaligned __attribute__((vector_size(16), aligned(4), may_alias));
using ivec = std::int32_t __attribute__((vector_size(16)));
using bytes = std::uint8_t __attribute__((vector_size(4)));
typedef std::uint8_t bytes_unaligned __attribute__((vector_size(4), aligned(1), may_alias));
using half = float __attribute__((vector_size(8)));
typedef float half_unaligned __attribute__((vector_size(8), aligned(4), may_alias));
using dvec = double __attribute__((vector_size(16)));

[[gnu::always_inline]] inline vec fma(vec a, vec b, vec c) noexcept { return a * b + c; }
[[gnu::always_inline]] inline vec broadcast(float s) noexcept { return vec{s, s, s, s}; }
[[gnu::always_inline]] inline vec square_root(vec a) noexcept {
    return vec{std::sqrt(a[0]), std::sqrt(a[1]), std::sqrt(a[2]), std::sqrt(a[3])};
}
[[gnu::always_inline]] inline vec interleave_low(vec a, vec b) noexcept {
    return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
[[gnu::always_inline]] inline vec interleave_high(vec a, vec b) noexcept {
    return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}
[[gnu::always_inline]] inline vec swap_neighbours(vec a) noexcept { return __builtin_shufflevector(a, a, 1, 0, 3, 2); }
