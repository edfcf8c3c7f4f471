// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "tessera/base/begin_header.inl"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include "tessera/op/expression/formula.hpp"
#include "tessera/op/nest/program.hpp"

#include "attention_shape.hpp"
#include "instruction_set.hpp"
#include "limits.hpp"
#include "nest_shape.hpp"
#include "node_step.hpp"
#include "row_work.hpp"
#include "shapes.hpp"
#include "tile.hpp"

// One source of kernels (body/), compiled three times: for AVX-512, for AVX2 with FMA, and for whatever the compiler
// flags allow. Users set no -march flag and <immintrin.h> costs half a second, so the bodies are written with vector
// types and a target pragma; the public headers choose among the three namespaces at run time.

#if defined(__x86_64__) && defined(__GNUC__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512vl,avx512dq,avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512vl,avx512dq,avx2,fma")
#endif
namespace tessera::host::kernels::avx512 {
#include "body/vector_avx512.inl"

#include "body/tile.inl"

#include "body/tiles_avx512.inl"

#include "body/all.inl"
} // namespace tessera::host::kernels::avx512
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace tessera::host::kernels::avx2 {
#include "body/vector_avx2.inl"

#include "body/tile.inl"

#include "body/tiles_avx2.inl"

#include "body/all.inl"
} // namespace tessera::host::kernels::avx2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#else

namespace tessera::host::kernels {
namespace portable {}
namespace avx512 = portable;
namespace avx2 = portable;
} // namespace tessera::host::kernels

#endif

namespace tessera::host::kernels::portable {
#include "body/vector_portable.inl"

#include "body/tile.inl"

#include "body/tiles_portable.inl"

#include "body/all.inl"
} // namespace tessera::host::kernels::portable

#include "tessera/base/end_header.inl"
