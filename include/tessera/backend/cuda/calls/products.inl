// SPDX-License-Identifier: Apache-2.0
// Bodies of products.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/calls/products.hpp"

#include <utility>

namespace tessera::cuda::detail {

TESSERA_INLINE void add_product(const shard_call& s, matrix_product m, std::vector<memory_use> memory) {
    m = s.algorithms.choose(m);
    if (m.workspace > 0) {
        memory.push_back(s.to.take(m.workspace));
    }
    s.to.add(m, std::move(memory));
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
