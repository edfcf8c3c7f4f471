// SPDX-License-Identifier: Apache-2.0
// Bodies of row_norm.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/row_norm.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE void launch_by_channels(const shard_call& s, const kernel& which, const std::vector<memory_use>& memory,
                                       const kernel_numbers& n) {
    const index_t channels = s.volume(s.parameter(0));
    s.to.launch_blocks(which, memory, n, channels, s.volume(s.input()) / channels);
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
