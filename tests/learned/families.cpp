// SPDX-License-Identifier: Apache-2.0
// Generated families of cost graphs, and graphs of groups as padded arrays.
#include "tessera/learned/families.hpp"
#include "tessera/learned/graph_batch.hpp"

#include <doctest/doctest.h>

#include <set>

namespace {

namespace tl = tessera::learned;
namespace sp = tessera::search::placement;

} // namespace

TEST_CASE("members of families are sound, differ, depend on their numbers and seeds alone, and fit no device whole") {
    for (const tl::family f : tl::all_families) {
        std::set<std::pair<int, std::size_t>> sizes;
        for (int number = 0; number < tl::family_members; ++number) {
            const sp::cost_graph g = tl::member(f, number);
            sp::require(g);
            CHECK(g == tl::member(f, number));
            CHECK(!(g == tl::member(f, number, 2)));
            CHECK(g.count() >= 30);
            CHECK(g.count() <= 300);
            sizes.insert({g.count(), g.edges.size()});
            const tessera::cluster on = tl::family_machine(g, 4);
            CHECK(!sp::evaluate(g, on, sp::assignment(g.nodes.size(), 0)).feasible);
        }
        CHECK(sizes.size() > 4);
        CHECK_THROWS_AS((void)tl::member(f, 32), tessera::error);
    }
    const tl::family_split split = tl::split_family(3, 8);
    std::set<int> all(split.training.begin(), split.training.end());
    all.insert(split.held_out.begin(), split.held_out.end());
    CHECK(all.size() == 32);
    CHECK(split.held_out.size() == 8);
    CHECK_THROWS_AS((void)tl::split_family(1, 33), tessera::error);
}

TEST_CASE("a graph of groups has every pair of groups once, with all bytes, and knows who leads to whom") {
    const sp::cost_graph g = tl::member(tl::family::image_cells, 3);
    const tessera::cluster on = tl::family_machine(g, 4);
    const sp::evaluator e(g, on);
    const sp::grouping groups = sp::chain_groups(g, e.order(), 16);
    const tl::group_graph x = tl::group_graph_of(e, groups);
    REQUIRE(x.count() == groups.count);
    double bytes = 0;
    for (const sp::cost_edge& edge : g.edges) {
        const int a = groups.of[tessera::to_size(edge.from)];
        const int b = groups.of[tessera::to_size(edge.to)];
        bytes += a != b ? static_cast<double>(edge.bytes) : 0;
    }
    std::set<std::pair<int, int>> pairs;
    for (const tl::group_edge& edge : x.edges) {
        bytes -= edge.bytes;
        CHECK(pairs.insert({edge.from, edge.to}).second);
        CHECK(x.is_ancestor(edge.from, edge.to));
    }
    CHECK(bytes == 0);
    for (int u = 0; u < x.count(); ++u) { // who leads to whom is closed under edges
        for (const tl::group_edge& edge : x.edges) {
            CHECK((!x.is_ancestor(u, edge.from) || edge.to == u || x.is_ancestor(u, edge.to)));
        }
    }
}

TEST_CASE("arrays of a batch: masks part the other nodes in three, padding is empty, what is too large is refused") {
    const sp::cost_graph g = tl::member(tl::family::translation, 1);
    const tessera::cluster on = tl::family_machine(g, 4);
    const sp::evaluator e(g, on);
    const sp::grouping groups = sp::chain_groups(g, e.order(), 20);
    const tl::group_graph x = tl::group_graph_of(e, groups);
    const int n = x.count();
    tl::graph_batch b({n + 3, static_cast<int>(x.edges.size()) + 5, 4});
    tl::placement_state s = tl::first_state(std::vector<int>(tessera::to_size(n), 2));
    for (s.current = 0; s.current < n; ++s.current) {
        b.clear();
        b.add(x, s);
        for (int v = 0; v < n + 3; ++v) {
            const auto at = tessera::to_size(v);
            const float all = b.ancestors[at] + b.descendants[at] + b.others[at];
            CHECK(all == (v < n && v != s.current ? 1.0F : 0.0F));
            const auto feature = at * 9;
            CHECK(b.features[feature + 3] == (v == s.current ? 1.0F : 0.0F));
            CHECK(b.features[feature + 5 + 2] == (v < n ? 1.0F : 0.0F));
        }
    }
    for (std::size_t k = x.edges.size(); k < b.into.size(); ++k) {
        CHECK(b.into[k] == n + 3); // which the network cuts off
        CHECK(b.back[k] == n + 3);
    }
    tl::graph_batch small({n - 1, 1000, 4});
    s.current = 0;
    CHECK_THROWS_AS(small.add(x, s), tessera::error);
    tl::graph_batch few({n, 1, 4});
    CHECK_THROWS_AS(few.add(x, s), tessera::error);
}
