// SPDX-License-Identifier: Apache-2.0
// Bodies of copy.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/backend/cuda/op/copy.hpp"

namespace tessera::cuda::detail {

TESSERA_INLINE void copy_gradients(const shard_call& s) {
    for (int k = 0; s.input(k) >= 0; ++k) {
        if (s.emits(s.input(k))) {
            s.to.add(memory_copy{}, {s.gradient(s.output()), s.gradient_to(s.input(k))});
        }
    }
}

} // namespace tessera::cuda::detail

#include "tessera/base/end_header.inl"
