// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/same_places.hpp"

#include "examples/networks.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/plan/lower/lower.hpp"
#include "tessera/search/explain/difference.hpp"
#include "tessera/simulate/simulate.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

bool alike(const ts::cluster& on, const ts::graph_view& g, const ts::strategy& a, const ts::strategy& b) {
    const std::vector<int> order = search::same_places(g, on, a, b);
    CHECK(search::is_symmetry(on, order));
    return !search::difference(g, a, search::in_old_numbers(g, b, order)).any();
}

} // namespace

TEST_CASE("strategies that differ in the numbers of devices alone are the same; nodes stay together") {
    const ts::graph g = ts::describe<networks::mlp>(64);
    const ts::cluster mesh(ts::machines::v100_nodes(2));  // a hybrid cube: not every order within a node is a symmetry
    const ts::cluster rails(ts::machines::a100_nodes(2)); // only the same order within all nodes is one
    const ts::cluster flat(ts::machines::p100_nodes(4));
    std::uint64_t random = 9;
    const auto below = [&](int most) {
        random = ts::op::mix(random);
        return static_cast<int>(random % static_cast<std::uint64_t>(most));
    };
    const auto shuffled = [&](int count) {
        std::vector<int> order;
        for (int i = 0; i < count; ++i) {
            order.insert(order.begin() + below(i + 1), i);
        }
        return order;
    };
    for (int i = 0; i < 20; ++i) {
        // Layers on devices at random, 2 shards each.
        ts::strategy a = search::data_parallel(g.view(), 2);
        for (int op = 0; op < g.view().op_count; ++op) {
            const int one = below(16);
            a.place(op, {one, (one + 1 + below(15)) % 16});
        }
        const std::vector<int> rail = shuffled(8);
        std::vector<int> nodes(16);
        std::vector<int> both(16);
        std::vector<int> any(16);
        const std::vector<int> of_four = shuffled(4);
        for (int n = 0; n < 4; ++n) {
            const std::vector<int> within = shuffled(4);
            for (int d = 0; d < 4; ++d) {
                any[ts::to_size(4 * n + d)] = 4 * of_four[ts::to_size(n)] + within[ts::to_size(d)];
            }
        }
        for (int d = 0; d < 16; ++d) {
            nodes[ts::to_size(d)] = (d + 8) % 16;
            both[ts::to_size(d)] = (d / 8 * 8 + 8) % 16 + rail[ts::to_size(d % 8)];
        }
        CHECK(alike(mesh, g.view(), a, search::in_old_numbers(g.view(), a, nodes)));
        CHECK(alike(rails, g.view(), a, search::in_old_numbers(g.view(), a, both)));
        CHECK(alike(flat, g.view(), a, search::in_old_numbers(g.view(), a, any)));
    }
}

TEST_CASE("a layer on one node's devices or on one of each is no matter of numbers") {
    const ts::graph g = ts::describe<networks::mlp>(64);
    const ts::cluster on(ts::machines::a100_nodes(4));
    const ts::strategy inside = search::data_parallel(g.view(), 4);
    ts::strategy across = inside;
    for (int op = 0; op < g.view().op_count; ++op) {
        across.place(op, {0, 8, 16, 24});
    }
    CHECK_FALSE(alike(on, g.view(), inside, across));
    const auto step = [&](const ts::strategy& s) {
        return ts::simulation::simulate(g.view(), ts::lower(g.view(), s.view(), 32), on).makespan;
    };
    CHECK(step(inside) < step(across)); // and it does matter
    CHECK(search::same_places(g.view(), on, inside, inside)[5] == 5);
}
