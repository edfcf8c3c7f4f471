// SPDX-License-Identifier: Apache-2.0
// Bodies of quantized_gradients.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/quantized_gradients.hpp"

namespace tessera::schedule::detail {

TESSERA_INLINE synchronization compressed(synchronization s, const compression_setting& compress) {
    require(check_compression(compress));
    s.compress = compress.how;
    s.compress_block = compress.block;
    s.keep_one_in = compress.keep_one_in;
    return s;
}

} // namespace tessera::schedule::detail

namespace tessera::schedule {

TESSERA_INLINE synchronization eight_bit_gradients(const std::vector<ready_gradient>& gradients, int block,
                                                   const bucket_sizes& size) {
    return detail::compressed(buckets(gradients, size), {compression::eight_bits, block, usual_keep_one_in});
}

TESSERA_INLINE synchronization one_bit_gradients(const std::vector<ready_gradient>& gradients, int block,
                                                 const bucket_sizes& size) {
    return detail::compressed(buckets(gradients, size), {compression::one_bit, block, usual_keep_one_in});
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
