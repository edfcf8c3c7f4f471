// SPDX-License-Identifier: Apache-2.0
// The program of docs/certified.md.
#include "tessera/search/certified/certified.hpp"

#include <doctest/doctest.h>

namespace ts = tessera;

TEST_CASE("docs/certified.md: a small problem and its optimum") {
    ts::search::choice_problem p;
    p.limit = 29;
    p.add_node(std::vector<ts::search::cost_t>{1, 5}, std::vector<std::int64_t>{20, 10}, {0, 4}); // costs, usages, when
    p.add_node(std::vector<ts::search::cost_t>{1, 7}, std::vector<std::int64_t>{20, 10}, {3, 6});
    p.add_edge(0, 1, std::vector<ts::search::cost_t>{0, 2, 2, 0}); // a row for each choice of node 0
    const ts::search::certified_result r = ts::search::solve_certified(p);
    // r.choice, r.value.cost, r.value.peak, r.bound, r.gap(), r.state
    CHECK(r.state == ts::search::status::solved);
    CHECK(r.value.cost == 12); // both use 10, for they are live together
    CHECK(r.value.peak == 20);
    CHECK(r.bound == 12);
}
