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
    kernel_numbers n;
    n.n[0] = elements;
    return n;
}

TESSERA_INLINE kernel_numbers row_numbers(const shard_call& s, int o) {
    kernel_numbers n;
    n.n[0] = rows_of(s, o);
    n.n[1] = s.volume(o) / n.n[0];
    n.n[2] = 1;
    return n;
}

TESSERA_INLINE kernel_numbers channel_numbers(const shard_call& s, int o) {
    kernel_numbers n;
    n.n[0] = s.size(o, 0);
    n.n[1] = s.size(o, 1);
    n.n[2] = s.volume(o) / (n.n[0] * n.n[1]);
    return n;
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
