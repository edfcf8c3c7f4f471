// SPDX-License-Identifier: Apache-2.0
// The file that a program for PyTorch imports, as it is written beside it: tessera_runtime.py in this folder.
#pragma once
#include "tessera/base/begin_header.inl"

namespace tessera::torch {

// clang-format off
inline constexpr const char* runtime_file =
#include "tessera/backend/torch/runtime_text.inl"
    ;
// clang-format on

} // namespace tessera::torch

#include "tessera/base/end_header.inl"
