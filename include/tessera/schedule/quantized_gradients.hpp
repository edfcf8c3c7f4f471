// SPDX-License-Identifier: Apache-2.0
// Gradients of 8 bits or of 1 bit an element, with error feedback: Seide, Fu, Droppo, Li and Yu, "1-Bit Stochastic
// Gradient Descent" (Interspeech
// 2014); Alistarh et al., "QSGD" (NIPS 2017); Karimireddy et al., "Error Feedback Fixes SignSGD" (ICML 2019). The
// formulas are in task/gradient_codes.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/buckets.hpp"

namespace tessera::schedule {

namespace detail {

/// All-reduces of buckets whose gradients are compressed.
synchronization compressed(synchronization s, const compression_setting& compress);

} // namespace detail

constexpr problem check_quantized(int block, const bucket_sizes& size) {
    const problem p = check_compression({compression::eight_bits, block, usual_keep_one_in});
    return p ? p : check_buckets(size);
}

/// Buckets of whole gradients as of buckets(), each of which a device sends to all others as one byte an element and
/// one scale for each block of `block` elements; what rounding leaves out it adds to its next gradient. Of n workers
/// each sends (n-1) S (1/4 + 1/block) bytes, in place of 2(n-1)/n S: less for n up to 7. Not the numbers of one device.
/// Throws tessera::error for blocks of less than 1 element and buckets of less than 1 byte.
synchronization eight_bit_gradients(const std::vector<ready_gradient>& gradients, int block = usual_block,
                                    const bucket_sizes& size = {});

/// The same with the sign of each element and two means for each block: (n-1) S (1/32 + 2/block) bytes.
synchronization one_bit_gradients(const std::vector<ready_gradient>& gradients, int block = usual_block,
                                  const bucket_sizes& size = {});

inline constexpr option_row block_option{"block", "elements of a gradient that share a scale", usual_block, 1, 1 << 30};

inline constexpr policy_record eight_bit_gradients_record{
    .name = "eight-bit-gradients",
    .title = "8-bit gradients",
    .about = "buckets of gradients rounded to 8 bits, with error feedback",
    .make =
        [](const policy_setting& x) {
            return eight_bit_gradients(x.gradients, x.options.as<int>(block_option), asked_buckets(x));
        },
    .options = {block_option, bucket_option, first_bucket_option},
    .same_numbers = false,
};

inline constexpr policy_record one_bit_gradients_record{
    .name = "one-bit-gradients",
    .title = "1-bit gradients",
    .about = "buckets of gradients' signs and two means for each block, with error feedback",
    .make =
        [](const policy_setting& x) {
            return one_bit_gradients(x.gradients, x.options.as<int>(block_option), asked_buckets(x));
        },
    .options = {block_option, bucket_option, first_bucket_option},
    .same_numbers = false,
};

} // namespace tessera::schedule

namespace tessera {

namespace detail {

/// What the two have in common as types.
template <compression How, auto Make, int Block, index_t Bytes, index_t First>
struct typed_quantization {
    static constexpr problem check() { return schedule::check_quantized(Block, {Bytes, First}); }
    static constexpr sync_modes modes() {
        return {true, sync_time::ready, sync_time::after_backward, false, 0, {How, Block}};
    }
    static synchronization make(const std::vector<schedule::ready_gradient>& gradients, const schedule::worker_speed&) {
        return Make(gradients, Block, {Bytes, First});
    }
};

} // namespace detail

/// In a strategy that is a type: synchronize<eight_bit_gradients<>>.
template <int Block = usual_block, index_t Bytes = schedule::bucket_sizes{}.bytes,
          index_t First = schedule::bucket_sizes{}.first>
struct eight_bit_gradients
    : detail::typed_quantization<compression::eight_bits, schedule::eight_bit_gradients, Block, Bytes, First> {};

/// In a strategy that is a type: synchronize<one_bit_gradients<>>.
template <int Block = usual_block, index_t Bytes = schedule::bucket_sizes{}.bytes,
          index_t First = schedule::bucket_sizes{}.first>
struct one_bit_gradients
    : detail::typed_quantization<compression::one_bit, schedule::one_bit_gradients, Block, Bytes, First> {};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/quantized_gradients.inl"
#endif

#include "tessera/base/end_header.inl"
