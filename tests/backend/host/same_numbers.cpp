// SPDX-License-Identifier: Apache-2.0
// Any legal strategy computes on the host backend what one device computes, whatever implementations and memory formats are
// chosen: estimated ones in even runs, random ones in odd ones. TESSERA_STRATEGIES=300 runs as many for every network.
#include "support/host_formats.hpp"
#include "support/sweep_check.hpp"

#include <doctest/doctest.h>

TEST_CASE("random strategies in random formats give the numbers of one device, twice the same bits") {
    using namespace test_support;
    hold_strategies(strategy_count(4), host_in_formats_of, allowed_rounding_with_adam);
}
