// SPDX-License-Identifier: Apache-2.0
// Whether constant expressions may hold vectors. They may not in the checked standard library (_GLIBCXX_DEBUG) of GCC
// before 14, whose vector is no literal type: a constexpr function with one in it is then an error. Such functions are
// for run time there.
#pragma once
#include "tessera/base/begin_header.inl"

#if defined(_GLIBCXX_DEBUG) && defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE < 14
#define TESSERA_VECTOR_CONSTEXPR inline
#else
#define TESSERA_VECTOR_CONSTEXPR constexpr
#endif

namespace tessera::detail {

#if defined(_GLIBCXX_DEBUG) && defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE < 14
inline constexpr bool vectors_are_constant = false;
#else
inline constexpr bool vectors_are_constant = true;
#endif

/// Says at compile time what a type that is made from vectors cannot do there.
template <class T, bool Constant = vectors_are_constant>
constexpr void require_constant_vectors() {
    static_assert(
        Constant,
        "tessera: this type is computed with vectors in a constant expression, which the standard library's debug mode "
        "(_GLIBCXX_DEBUG before GCC 14) does not allow; use the value at run time, or compile without _GLIBCXX_DEBUG");
}

} // namespace tessera::detail

#include "tessera/base/end_header.inl"
