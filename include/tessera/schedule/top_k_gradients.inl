// SPDX-License-Identifier: Apache-2.0
// Bodies of top_k_gradients.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/top_k_gradients.hpp"

namespace tessera::schedule {

TESSERA_INLINE synchronization top_k_gradients(const std::vector<ready_gradient>& gradients, int keep_one_in,
                                               const bucket_sizes& size) {
    return detail::compressed(buckets(gradients, size), {compression::top_k, usual_block, keep_one_in});
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
