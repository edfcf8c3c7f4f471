// SPDX-License-Identifier: Apache-2.0
// The largest elements of gradients alone, with error feedback: Stich, Cordonnier and Jaggi, "Sparsified SGD with
// Memory" (NeurIPS 2018); Lin et al., "Deep Gradient Compression" (ICLR 2018). The formulas are in
// task/gradient_codes.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/quantized_gradients.hpp"

namespace tessera::schedule {

constexpr problem check_top_k(int keep_one_in, const bucket_sizes& size) {
    const problem p = check_compression({compression::top_k, usual_block, keep_one_in});
    return p ? p : check_buckets(size);
}

/// Buckets of whole gradients as of buckets(), of each of which a device sends to all others one element of
/// `keep_one_in`, rounded up, with its index: those of the largest magnitude; the others it adds to its next gradient.
/// Of n workers each sends 2(n-1) S / keep_one_in bytes. Not the numbers of one device. Throws tessera::error for less
/// than one element of one, and buckets of less than 1 byte.
synchronization top_k_gradients(const std::vector<ready_gradient>& gradients, int keep_one_in = usual_keep_one_in,
                                const bucket_sizes& size = {});

inline constexpr option_row keep_option{"keep-one-in", "elements of a gradient, of which the largest is sent",
                                        usual_keep_one_in, 1, 1 << 30};

inline constexpr policy_record top_k_gradients_record{
    .name = "top-k-gradients",
    .title = "top-k gradients",
    .about = "buckets of gradients' largest elements with their indices, with error feedback",
    .make =
        [](const policy_setting& x) {
            return top_k_gradients(x.gradients, x.options.as<int>(keep_option), asked_buckets(x));
        },
    .options = {keep_option, bucket_option, first_bucket_option},
    .same_numbers = false,
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: synchronize<top_k_gradients<100>>.
template <int KeepOneIn = usual_keep_one_in, index_t Bytes = schedule::bucket_sizes{}.bytes,
          index_t First = schedule::bucket_sizes{}.first>
struct top_k_gradients {
    static constexpr problem check() { return schedule::check_top_k(KeepOneIn, {Bytes, First}); }
    static constexpr sync_modes modes() {
        return {
            true, sync_time::ready, sync_time::after_backward, false, 0, {compression::top_k, usual_block, KeepOneIn}};
    }
    static synchronization make(const std::vector<schedule::ready_gradient>& gradients, const schedule::worker_speed&) {
        return schedule::top_k_gradients(gradients, KeepOneIn, {Bytes, First});
    }
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/top_k_gradients.inl"
#endif

#include "tessera/base/end_header.inl"
