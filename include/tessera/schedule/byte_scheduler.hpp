// SPDX-License-Identifier: Apache-2.0
// Partitions with priorities and credit: Peng et al., "A generic communication scheduler for distributed DNN training acceleration"
// (ByteScheduler, SOSP 2019).
#pragma once

#include "tessera/schedule/gradients.hpp"

namespace tessera::schedule {

/// ByteScheduler's settings, in parameters; these are its defaults for parameter servers. For all-reduces it takes about 8,000,000 and 16,000,000.
struct credit_rule {
    exchange how = exchange::server;
    int servers = 1;               ///< round robin; all-reduces have none
    index_t partition = 1'000'000; ///< at most
    index_t credit = 4'000'000;    ///< that may be on their way at a time; as much as a partition: one at a time, as P3
    worker_speed speed{};          ///< that the order of messages is made for
};

/// Gradients are cut into partitions; of what is ready those of the first layers go first, as long as there is credit, which returns when a partition
/// has arrived. Throws tessera::error for partitions of less than one parameter and for fewer than one server.
inline synchronization byte_scheduler(const std::vector<ready_gradient>& gradients, const credit_rule& rule) {
    return prioritized_slices(gradients, {rule.how, rule.servers, rule.partition, rule.speed.bytes_per_ns,
                                          rule.credit * bytes_of(element::f32)});
}

} // namespace tessera::schedule
