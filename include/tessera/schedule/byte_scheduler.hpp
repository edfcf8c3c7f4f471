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
/// has arrived.
inline synchronization byte_scheduler(const std::vector<ready_gradient>& gradients, const credit_rule& rule) {
    std::vector<ready_gradient> items;
    std::vector<message> messages;
    int next = 0;
    for (const ready_gradient& x : gradients) {
        const index_t count = (x.elements + rule.partition - 1) / rule.partition;
        for (index_t k = 0; k < count; ++k) {
            items.push_back(x);
            items.back().elements = even_part(x.elements, count, k).size();
            messages.push_back({rule.how,
                                next++ % (rule.servers > 0 ? rule.servers : 1),
                                {{x.parameter, static_cast<int>(k), static_cast<int>(count)}}});
        }
    }
    synchronization s;
    for (const std::size_t i : priority_order(items, rule.speed.bytes_per_ns, rule.credit * bytes_of(element::f32))) {
        s.messages.push_back(static_cast<message&&>(messages[i]));
    }
    return s;
}

} // namespace tessera::schedule
