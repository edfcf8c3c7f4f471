// SPDX-License-Identifier: Apache-2.0
// Which operators are split alike: steps of an unrolled layer, and chains of element-wise operators.
#include "tessera/search/tofu/coarsen.hpp"

#include "examples/networks.hpp"
#include "examples/zoo/recurrent.hpp"
#include "tessera/net/describe.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

search::coarse_groups coarse(const ts::graph& g, const search::coarsening& how = {}) {
    std::vector<ts::description> all;
    for (int op = 0; op < g.view().op_count; ++op) {
        all.push_back(g.view().describe(op));
    }
    return search::coarsen(g.view(), all, how);
}

} // namespace

TEST_CASE("an unrolled network has as many groups however many steps it has") {
    const ts::graph four = ts::describe<networks::rnnlm_parts<4, 16, 50>::network>(8);
    const ts::graph eight = ts::describe<networks::rnnlm_parts<8, 16, 50>::network>(8);
    CHECK(coarse(four).ops.size() == coarse(eight).ops.size());
    CHECK(coarse(four).ops.size() < 30);
    CHECK(coarse(eight, {false, false}).ops.size() == eight.ops.size());
    CHECK(coarse(eight, {true, false}).ops.size() > coarse(eight).ops.size());
    CHECK(coarse(eight, {false, true}).ops.size() > coarse(eight).ops.size());
}

TEST_CASE("operators of a group have the same choices, and every operator is in one group") {
    const ts::graph g = ts::describe<networks::rnnlm_parts<4, 16, 50>::network>(8);
    const search::coarse_groups all = coarse(g);
    std::vector<int> seen(g.ops.size(), 0);
    for (std::size_t k = 0; k < all.ops.size(); ++k) {
        const ts::description first = g.view().describe(all.ops[k][0]);
        for (const int op : all.ops[k]) {
            ++seen[ts::to_size(op)];
            CHECK(all.group_of[ts::to_size(op)] == static_cast<int>(k));
            const ts::description d = g.view().describe(op);
            CHECK(search::works_by_element(d) == (all.elementwise[k] != 0));
            REQUIRE(d.loops.size() == first.loops.size());
            for (int l = 0; l < d.loops.size(); ++l) {
                const int own = search::loop_of_choice(d, all.elementwise[k] != 0, l);
                const int others = search::loop_of_choice(first, all.elementwise[k] != 0, l);
                CHECK(d.loops[own].extent == first.loops[others].extent);
            }
        }
    }
    CHECK(std::count(seen.begin(), seen.end(), 1) == static_cast<std::ptrdiff_t>(seen.size()));
}

TEST_CASE("element-wise operators: those without parameters and sums, of equal extents") {
    const ts::graph g = ts::describe<networks::alexnet>(8);
    for (int op = 0; op < g.view().op_count; ++op) {
        const std::string name(g.ops[ts::to_size(op)].name);
        const bool is = name == "relu" || name == "dropout" || name.find("dropout") != std::string::npos;
        CAPTURE(name);
        CHECK(search::works_by_element(g.view().describe(op)) == is);
    }
}
