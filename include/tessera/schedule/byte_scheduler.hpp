// SPDX-License-Identifier: Apache-2.0
// Partitions with priorities and credit: Peng et al., "A generic communication scheduler for distributed DNN training
// acceleration" (ByteScheduler, SOSP 2019).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/policy_record.hpp"
#include "tessera/schedule/typed_synchronization.hpp"

namespace tessera::schedule {

/// ByteScheduler's settings, in parameters; these are its defaults for parameter servers. For all-reduces it takes
/// about 8,000,000 and 16,000,000.
struct credit_rule {
    exchange how = exchange::server;
    int servers = 1;               ///< round robin; all-reduces have none
    index_t partition = 1'000'000; ///< at most
    index_t credit = 4'000'000;    ///< that may be on their way at a time; as much as a partition: one at a time, as P3
    worker_speed speed{};          ///< that the order of messages is made for
};

constexpr problem check_credit(const credit_rule& x) {
    problem p = check_servers(x.servers);
    p = p ? p : check_slice(x.partition);
    return p || x.credit >= 1 ? p : problem{rule::no_credit, -1, -1, x.credit, 1};
}

/// Gradients are cut into partitions; of what is ready those of the first layers go first, as long as there is credit,
/// which returns when a partition has arrived. Throws tessera::error for partitions and credit of less than one
/// parameter and for fewer than one server.
synchronization byte_scheduler(const std::vector<ready_gradient>& gradients, const credit_rule& rule);

inline constexpr option_row partition_option{"partition", "elements of a partition of ByteScheduler, at most",
                                             1'000'000, 1, 1e15};
inline constexpr option_row credit_option{"credit", "elements that ByteScheduler has on their way at a time", 4'000'000,
                                          1, 1e15};
inline constexpr option_row large_partition_option{partition_option.name, partition_option.about, 8'000'000, 1, 1e15};
inline constexpr option_row large_credit_option{credit_option.name, credit_option.about, 16'000'000, 1, 1e15};

inline constexpr policy_record byte_scheduler_record{
    .name = "byte-scheduler",
    .title = "ByteScheduler",
    .about = "partitions to parameter servers and back by priority, with credit",
    .make =
        [](const policy_setting& x) {
            return byte_scheduler(x.gradients,
                                  {exchange::server, servers_of(x), x.options.as<index_t>(partition_option),
                                   x.options.as<index_t>(credit_option), x.speed});
        },
    .options = {servers_option, partition_option, credit_option},
};

inline constexpr policy_record byte_scheduler_all_reduce_record{
    .name = "byte-scheduler-all-reduce",
    .title = "ByteScheduler on all-reduces",
    .about = "the same by all-reduces",
    .make =
        [](const policy_setting& x) {
            return byte_scheduler(x.gradients, {exchange::all_reduce, 1, x.options.as<index_t>(large_partition_option),
                                                x.options.as<index_t>(large_credit_option), x.speed});
        },
    .options = {large_partition_option, large_credit_option},
};

inline constexpr policy_record byte_scheduler_slices_record{
    .name = "byte-scheduler-slices",
    .title = "ByteScheduler on slices",
    .about = "the same by reduce-scatter, update and all-gather",
    .make =
        [](const policy_setting& x) {
            return byte_scheduler(x.gradients, {exchange::sliced, 1, x.options.as<index_t>(partition_option),
                                                x.options.as<index_t>(credit_option), x.speed});
        },
    .options = {partition_option, credit_option},
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: synchronize<byte_scheduler<exchange::server, 4>>.
template <exchange How, int Servers, index_t Partition = schedule::credit_rule{}.partition,
          index_t Credit = schedule::credit_rule{}.credit>
struct byte_scheduler {
    static constexpr problem check() { return schedule::check_credit({How, Servers, Partition, Credit, {}}); }
    static constexpr sync_modes modes() { return {true, sync_time::ready, sync_time::ready, false, 0}; }
    static synchronization make(const std::vector<schedule::ready_gradient>& gradients,
                                const schedule::worker_speed& speed) {
        return schedule::byte_scheduler(gradients, {How, Servers, Partition, Credit, speed});
    }
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/byte_scheduler.inl"
#endif

#include "tessera/base/end_header.inl"
