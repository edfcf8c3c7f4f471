// SPDX-License-Identifier: Apache-2.0
// The text of the kernels, as one string for NVRTC: those that all plans or several operators have, and those of
// certain operators.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/kernels/mask.hpp"
#include "tessera/backend/cuda/kernels/row_norm.hpp"
#include "tessera/backend/cuda/kernels/row_order.hpp"
#include "tessera/backend/cuda/kernels/update.hpp"
#include "tessera/backend/cuda/op/table.hpp"

#include <string>

namespace tessera::cuda {

namespace detail {

/// What comes before all device code.
inline constexpr const char* kernel_macros = R"(
using index_t = long long;
#define KERNEL(name, ...) extern "C" __global__ void name(given<__VA_ARGS__> a)
#define TYPED_KERNEL(name, ...) \
    KERNEL(name, __VA_ARGS__) { name##_of<float>(a); } \
    KERNEL(name##_bf16, __VA_ARGS__) { name##_of<bf16>(a); }
)";

/// In this order, for a text may use what those before it define.
inline constexpr const char* shared_code[] = {kernels::common_code,  kernels::copy_code,     kernels::channel_code,
                                              kernels::row_code,     kernels::update_code,   kernels::root_code,
                                              kernels::formula_code, kernels::step_code,     kernels::row_norm_code,
                                              kernels::mask_code,    kernels::row_order_code};

} // namespace detail

/// Some kernels, with what comes before all device code.
std::string source_of(const std::string& kernels);

/// The kernels of these rows. Each of them needs the shared code, and none of another's.
std::string kernel_source(row_table rows = rows_of<all_operators>());

} // namespace tessera::cuda

#ifndef TESSERA_COMPILED
#include "tessera/backend/cuda/kernels/source.inl"
#endif

#include "tessera/base/end_header.inl"
