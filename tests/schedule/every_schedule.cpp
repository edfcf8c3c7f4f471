// SPDX-License-Identifier: Apache-2.0
// Every schedule computes what one device computes that runs the same micro-batches, twice the same bits: every ninth
// of the 256 combinations that benchmarks/same_numbers/schedules prints. TESSERA_STRATEGIES=1 runs all.
#include "support/every_schedule.hpp"
#include "support/sweep_check.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

using namespace test_support;

TEST_CASE("LeNet-5, residual net, U-Net and Transformer give one device's numbers under every schedule") {
    int combinations = 0;
    sweep_check check;
    sweep_schedules(
        strategy_count(9) > 1 ? 4 : 0, strategy_count(9),
        [](const ts::optimizer& update) { return ts::reference::backend(update); },
        [&](const sweep_case& c, const named_schedule& s, int devices, const sweep_result& r) {
            CAPTURE(s.name);
            check.hold(c, devices, r, allowed_rounding);
            ++combinations;
        });
    CHECK(combinations >= 28);
}
