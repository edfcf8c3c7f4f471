// SPDX-License-Identifier: Apache-2.0
// Lowering: from a network and a strategy to the logical plan. Everything here follows from the operators' descriptions.
#pragma once

#include "tessera/plan/lower_average.hpp"
#include "tessera/plan/lower_backward.hpp"
#include "tessera/plan/lower_exchange.hpp"
#include "tessera/plan/lower_forward.hpp"
#include "tessera/plan/lower_placement.hpp"
#include "tessera/plan/lower_redistribution.hpp"
#include "tessera/plan/lower_results.hpp"
#include "tessera/plan/lower_sharded.hpp"
#include "tessera/plan/lower_stages.hpp"
#include "tessera/plan/lower_steps.hpp"
#include "tessera/plan/lower_synchronization.hpp"
#include "tessera/plan/lower_update.hpp"

namespace tessera {

/// The logical plan of a network under a strategy. The strategy must keep the rules (see require()). Throws tessera::error for micro-batches,
/// stages or a schedule that do not fit the network or each other.
template <class Options = lower_options>
plan lower(const graph_view& g, const strategy_view& s, int devices, const Options& options = {}) {
    return detail::lowering<Options>(g, s, devices, options).run();
}

} // namespace tessera
