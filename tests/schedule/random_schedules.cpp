// SPDX-License-Identifier: Apache-2.0
// Schedules and synchronization policies against verification: random ones are verified or refused with the rule, and
// damaged plans are caught. benchmarks/schedules/random_schedules tries 10,000.
#include "support/random_schedule.hpp"

#include <doctest/doctest.h>

using namespace test_support;

TEST_CASE("random schedules and policies are verified or refused with the rule; plans that lack a wait, an order, a "
          "task or a "
          "part of an exchange are caught") {
    namespace n = test_networks;
    const ts::graph networks[] = {ts::describe<n::mlp::network>(6), ts::describe<n::unet::network>(4),
                                  ts::describe<n::residual_net::network>(4), ts::describe<n::two_losses::network>(6),
                                  ts::describe<n::transformer::network>(3)};
    coverage seen;
    schedule_findings found;
    constexpr int schedules = 200;
    for (int i = 0; i < schedules; ++i) {
        try_schedule(networks[i % 5].view(), 1 + i / 5 % 4, 70000 + static_cast<std::uint64_t>(i), seen, found);
    }
    for (const std::string& w : found.wrong) {
        FAIL_CHECK(w);
    }
    CHECK(found.verified.total() + found.refused.total() == schedules);
    CHECK(found.verified.rows.size() >= 8);  // schedules
    CHECK(found.policies.rows.size() == 13); // all, and none
    CHECK(found.refused.rows.size() >= 4);   // rules
    for (std::size_t kind = 0; kind < mutation_kinds; ++kind) {
        CAPTURE(mutations[kind]);
        CHECK(found.tried[kind] > 60);
        CHECK(found.caught[kind].total() == found.tried[kind]);
        CHECK(found.with_policy[kind] > 40);
    }
}
