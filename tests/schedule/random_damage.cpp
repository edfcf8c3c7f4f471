// SPDX-License-Identifier: Apache-2.0
// Law 5 against damaged plans of random networks. benchmarks/schedules/random_damage tries more than 100,000.
#include "support/random_damage.hpp"

#include <doctest/doctest.h>

using namespace test_support;

TEST_CASE(
    "a plan with one number, entry or task that is wrong is refused, or computes the right numbers all the same") {
    damage_findings found;
    for (std::uint64_t number = 500000; found.networks < 150; ++number) {
        damage_plans(number, 40, found);
    }
    for (const std::string& w : found.wrong) {
        FAIL_CHECK(w);
    }
    CHECK(found.damages > 5000);
    CHECK(found.refused.rows.size() > 200); // things that were damaged
    CHECK(found.rules.rows.size() > 40);
    CHECK(found.right > 1000); // and not everything is refused
    MESSAGE(found.damages << " damages, " << found.refused.total() << " refused, " << found.right
                          << " accepted and right");
}
