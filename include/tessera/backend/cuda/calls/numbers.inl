// SPDX-License-Identifier: Apache-2.0
// Bodies of numbers.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/numbers.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE index_t rows_of(const shard_call& s, int o) {
    const box b = s.region_of(o);
    return b.volume() / b.dim[b.rank - 1].size();
}

TESSERA_INLINE kernel_numbers count_of(index_t elements) {
    return kernel_numbers(kernels::count_numbers{.count = elements});
}

TESSERA_INLINE kernels::row_numbers row_numbers_of(const shard_call& s, int o) {
    const index_t rows = rows_of(s, o);
    return {.samples = rows, .columns = s.volume(o) / rows, .plane = 1};
}

TESSERA_INLINE kernels::channel_numbers channel_numbers_of(const shard_call& s, int o) {
    const index_t samples = s.size(o, 0);
    const index_t channels = s.size(o, 1);
    return {.samples = samples, .channels = channels, .plane = s.volume(o) / (samples * channels)};
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
