// SPDX-License-Identifier: Apache-2.0
// Delta simulation against full simulation over random networks, machines, strategies and policies.
// benchmarks/simulate/delta_full runs 10,000 proposals and more.
#include "support/random_proposals.hpp"

#include <doctest/doctest.h>

TEST_CASE("delta: random proposals for random networks on random machines are simulated bit for bit as a whole") {
    test_support::coverage seen;
    test_support::delta_findings found;
    for (std::uint64_t number = 1'000'000; found.compared < 300 && found.wrong.empty(); ++number) {
        test_support::try_proposals(number, 12, seen, found);
    }
    for (const std::string& w : found.wrong) {
        FAIL_CHECK(w);
    }
    CHECK(found.whole > 0);
    CHECK(found.cut_short > 0);
    CHECK(found.accepted > 0);
    CHECK(found.visited < found.activities); // something was not worked out again
}

TEST_CASE("delta: a change is not refused for work that it ends in neighbours: copies and sums of devices that copy in "
          "turn") {
    test_support::coverage seen;
    test_support::delta_findings found;
    for (const std::uint64_t number : {161U, 273U, 412U, 516U, 523U}) { // five that delta_full has found
        test_support::try_proposals(number, 40, seen, found);
    }
    for (const std::string& w : found.wrong) {
        FAIL_CHECK(w);
    }
    CHECK(found.cut_short > 0);
}
