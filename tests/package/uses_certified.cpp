// SPDX-License-Identifier: Apache-2.0
// The cheapest choice of a problem of two nodes.
#include <tessera/search/certified/certified.hpp>

int main() {
    namespace search = tessera::search;
    search::choice_problem p;
    p.add_node(std::vector<search::cost_t>{1, 5}, std::vector<std::int64_t>{0, 0}, {0, 1});
    p.add_node(std::vector<search::cost_t>{1, 7}, std::vector<std::int64_t>{0, 0}, {0, 1});
    p.add_edge(0, 1, std::vector<search::cost_t>{9, 2, 2, 0});
    const search::certified_result r = search::solve_certified(p);
    return r.value.cost == 8 ? 0 : 1;
}
