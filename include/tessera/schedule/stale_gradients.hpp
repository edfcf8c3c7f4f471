// SPDX-License-Identifier: Apache-2.0
// Asynchronous pushes with a bound on staleness: Ho et al., "More Effective Distributed ML via a Stale Synchronous
// Parallel Parameter Server" (NIPS 2013), with the delay fixed, as in Langford, Smola and Zinkevich, "Slow Learners are
// Fast" (NIPS 2009).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/buckets.hpp"

namespace tessera::schedule {

constexpr problem check_stale_gradients(int staleness, const bucket_sizes& size) {
    const problem p = check_staleness(staleness, staleness < 0 ? 1 : staleness + 1);
    return p ? p : check_buckets(size);
}

/// Buckets of gradients as of buckets(), pushed as soon as each is full, but used late: step t computes with parameters
/// that have been updated by the gradients of the steps up to t - 1 - staleness, so that no device waits for what
/// others have pushed of the `staleness` steps before. Within a plan of several steps (strategy::steps_per_plan, more
/// than `staleness`), at whose end everything is used; the delay is the bound itself, so that every run gives the same
/// numbers. With 0 those of buckets(), else not those of one device. Memory: the sums of `staleness` steps. Throws
/// tessera::error for a bound below 0, and buckets of less than 1 byte.
synchronization stale_gradients(const std::vector<ready_gradient>& gradients, int staleness = 1,
                                const bucket_sizes& size = {});

inline constexpr option_row staleness_option{
    "staleness", "steps whose gradients may be missing; the strategy's period is more", 1, 0, 1023};

inline constexpr policy_record stale_gradients_record{
    .name = "stale-gradients",
    .title = "stale gradients",
    .about =
        "buckets of gradients that are used some steps late, in plans of several steps; nobody waits for them before",
    .make =
        [](const policy_setting& x) {
            return stale_gradients(x.gradients, x.options.as<int>(staleness_option), asked_buckets(x));
        },
    .options = {staleness_option, bucket_option, first_bucket_option},
    .same_numbers = false,
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: synchronize<stale_gradients<2>>, period<8>.
template <int Staleness = 1, index_t Bytes = schedule::bucket_sizes{}.bytes,
          index_t First = schedule::bucket_sizes{}.first>
struct stale_gradients {
    static constexpr problem check() { return schedule::check_stale_gradients(Staleness, {Bytes, First}); }
    static constexpr sync_modes modes() {
        return {true, sync_time::ready, sync_time::after_backward, false, 0, {}, Staleness};
    }
    static synchronization make(const std::vector<schedule::ready_gradient>& gradients, const schedule::worker_speed&) {
        return schedule::stale_gradients(gradients, Staleness, {Bytes, First});
    }
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/stale_gradients.inl"
#endif

#include "tessera/base/end_header.inl"
