// SPDX-License-Identifier: Apache-2.0
// Bucketed overlap, as PyTorch's DistributedDataParallel: Li et al., "PyTorch Distributed" (VLDB 2020), section 3.2.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/policy_record.hpp"
#include "tessera/schedule/typed_synchronization.hpp"

namespace tessera::schedule {

/// PyTorch's settings.
struct bucket_sizes {
    index_t bytes = index_t{25} << 20;
    index_t first = index_t{1} << 20; ///< of the first bucket, so that communication begins early
};

constexpr problem check_buckets(const bucket_sizes& size) {
    const problem p = check_bucket(size.bytes);
    return p ? p : check_bucket(size.first);
}

/// Gradients fill buckets in the order in which they become ready (the reverse of the parameters'); a bucket is full
/// when it has reached its size, and no gradient is cut. Each is all-reduced as soon as it is full and those before it
/// have been sent; parameters are updated when the backward pass is over. Throws tessera::error for buckets of less
/// than 1 byte.
synchronization buckets(const std::vector<ready_gradient>& gradients, const bucket_sizes& size = {});

inline constexpr option_row bucket_option{"bucket-bytes", "of each bucket of gradients", index_t{25} << 20, 1, 1e15};
inline constexpr option_row first_bucket_option{"first-bucket-bytes", "of the first bucket of gradients",
                                                index_t{1} << 20, 1, 1e15};

/// The sizes that a policy of buckets is asked for by these options.
bucket_sizes asked_buckets(const policy_setting& x);

inline constexpr policy_record buckets_record{
    .name = "buckets",
    .title = "buckets",
    .about = "PyTorch DDP's all-reduces of full buckets, as soon as each is full",
    .make = [](const policy_setting& x) { return buckets(x.gradients, asked_buckets(x)); },
    .options = {bucket_option, first_bucket_option},
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: synchronize<buckets<>>.
template <index_t Bytes = schedule::bucket_sizes{}.bytes, index_t First = schedule::bucket_sizes{}.first>
struct buckets {
    static constexpr problem check() { return schedule::check_buckets({Bytes, First}); }
    static constexpr sync_modes modes() { return {true, sync_time::ready, sync_time::after_backward, false, 0}; }
    static synchronization make(const std::vector<schedule::ready_gradient>& gradients, const schedule::worker_speed&) {
        return schedule::buckets(gradients, {Bytes, First});
    }
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/buckets.inl"
#endif

#include "tessera/base/end_header.inl"
