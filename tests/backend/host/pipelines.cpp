// SPDX-License-Identifier: Apache-2.0
// Pipelines on the host backend compute what one device computes that runs the same micro-batches, in estimated and
// random formats. TESSERA_STRATEGIES=300 runs as many for every network.
#include "support/host_formats.hpp"
#include "support/sweep_check.hpp"

#include <doctest/doctest.h>

TEST_CASE("random pipelines in random formats give the numbers of one device, twice the same bits") {
    using namespace test_support;
    hold_pipelines(strategy_count(4), host_in_formats_of, allowed_rounding_with_adam);
}
