// SPDX-License-Identifier: Apache-2.0
// Lowering of running statistics, which follow those of the whole batch when its last micro-batch has gone forward.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/lower/forward.hpp"

#include <algorithm>

namespace tessera::lowering {

using micro_batch_list = std::vector<micro_batch_places>;

/// Takes a micro-batch to hand: what is appended from now on is counted to it.
micro_batch_places& select(micro_batch_list& all, plan_writer& out, int number);

/// What running statistics follow, and how.
struct running_update {
    int shard_number = 0;
    int source = -1; ///< tile of the statistics
    int target = -1; ///< tile of the running ones
    index_t samples = 0;
};

void add_running(const lowering_input& in, plan_writer& out, int op, const shard& s, const running_update& x);

/// A tile for a sum of a shard's statistics over all micro-batches.
int add_statistics(const lowering_input& in, plan_writer& out, int op, int which, const shard& s);

/// The tile with a shard's statistics over all micro-batches.
int whole_statistics(const lowering_input& in, network_places& net, micro_batch_list& all, plan_writer& out, int op,
                     int which, int number, const shard& s);

/// Where every shard of samples takes its own statistics, the running ones follow those of the first that has samples.
void update_from_first(const lowering_input& in, network_places& net, micro_batch_list& all, plan_writer& out, int op);

/// Running statistics follow the statistics of the whole batch, once for every copy of them.
void update_running(const lowering_input& in, network_places& net, micro_batch_list& all, plan_writer& out, int op);

/// An operator's tasks forward for the micro-batch at hand, and what follows the last one's.
void forward_and_follow(const lowering_input& in, network_places& net, micro_batch_list& all, plan_writer& out, int op);

} // namespace tessera::lowering

#ifndef TESSERA_COMPILED
#include "tessera/plan/lower/statistics.inl"
#endif

#include "tessera/base/end_header.inl"
