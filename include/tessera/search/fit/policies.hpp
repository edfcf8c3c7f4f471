// SPDX-License-Identifier: Apache-2.0
// What synchronization policies go by on a machine, and what fit() has to know of what they make.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/roofline.hpp"
#include "tessera/machine/cluster.hpp"
#include "tessera/schedule/policy_record.hpp"
#include "tessera/strategy/strategy.hpp"

namespace tessera::search {

/// The speeds that policies order messages by: convolutions' on the first device, and those of the way from it to the
/// last.
schedule::worker_speed speed_of(const cluster& on, const cost::roofline_efficiency& reached = {});

/// What a policy makes for a number of devices that may share parameters.
synchronization synchronization_of(const graph_view& g, int members, const schedule::worker_speed& speed,
                                   const schedule::policy_record& policy, const option_values& options = {});

namespace detail {

/// What estimates have to know of a policy.
struct policy_traits {
    bool late_sums = false;    ///< nothing is exchanged before all has gone backward
    bool late_updates = false; ///< sums wait for that
    bool whole = false;        ///< every copy is updated as a whole, and keeps all of its state
    bool sharded = false;      ///< parameters are stored in slices
    bool queued = false;       ///< gradients stay until a queue has sent them
    exchange method = exchange::sliced;
    std::vector<int> messages; ///< by the operator that first uses the parameter of their first slice
    index_t largest = 0;       ///< bytes of the largest message
};

policy_traits traits_of(const graph_view& g, const std::vector<schedule::ready_gradient>& gradients,
                        const synchronization& s);

} // namespace detail

} // namespace tessera::search

#ifndef TESSERA_COMPILED
#include "tessera/search/fit/policies.inl"
#endif

#include "tessera/base/end_header.inl"
