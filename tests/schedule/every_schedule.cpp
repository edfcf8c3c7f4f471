// SPDX-License-Identifier: Apache-2.0
// Every schedule computes what one device computes that runs the same micro-batches, twice the same bits: every ninth of the 256 combinations that
// benchmarks/same_numbers/schedules prints. TESSERA_STRATEGIES=1 runs all.
#include "support/every_schedule.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

using namespace test_support;

TEST_CASE("LeNet-5, residual net, U-Net and Transformer give one device's numbers under every schedule") {
    int combinations = 0;
    sweep_schedules(
        strategy_count(9) > 1 ? 4 : 0, strategy_count(9),
        [](const ts::optimizer& how) { return ts::reference::backend(how); },
        [&](const sweep_case& c, const named_schedule& s, int devices, const sweep_result& r) {
            CAPTURE(c.name);
            CAPTURE(s.name);
            CAPTURE(devices);
            CAPTURE(r.seen.worst);
            CHECK(r.failure == "");
            CHECK(r.seen.loss <= 1e-4);
            CHECK(r.seen.gradient <= 1e-4);
            CHECK(r.seen.change <= 1e-4);
            CHECK(r.seen.copies_equal);
            CHECK(r.repeats);
            ++combinations;
        });
    CHECK(combinations >= 24);
}
