// SPDX-License-Identifier: Apache-2.0
// The text of the kernels, as one string for NVRTC.
#pragma once

namespace tessera::cuda {

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage): the one way to have code both as text and, in tests, as code
#define TESSERA_DEVICE_CODE(...) #__VA_ARGS__ "\n"

inline constexpr const char* kernel_source =
#include "tessera/backend/cuda/kernels/common.inl"
#include "tessera/backend/cuda/kernels/cross_entropy.inl"
#include "tessera/backend/cuda/kernels/elementwise.inl"
#include "tessera/backend/cuda/kernels/expert.inl"
#include "tessera/backend/cuda/kernels/normalize.inl"
#include "tessera/backend/cuda/kernels/pool.inl"
#include "tessera/backend/cuda/kernels/sequence.inl"
#include "tessera/backend/cuda/kernels/update.inl"
    ;

#undef TESSERA_DEVICE_CODE

} // namespace tessera::cuda
