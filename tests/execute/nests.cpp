// SPDX-License-Identifier: Apache-2.0
// Operators that are written as loop nests, whole plans of them: any split gives what one device gives, gradients of
// inputs and parameters among it.
#include "op/nests.hpp"
#include "support/behind_products.hpp"

#include "tessera/backend/reference/backend.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
using namespace test_support;

} // namespace

TEST_CASE("loop nests under random splits give the numbers of one device") {
    coverage seen;
    for (const tests::op_case& row : tests::nests::table()) {
        const ts::graph network = graph_behind_products(row);
        const ts::graph_view g = network.view();
        const batch_data data(g, 3);
        ts::reference::backend alone;
        const auto expected = values_after(alone, g, ts::strategy(g), 1, data);
        REQUIRE(expected.size() > ts::to_size(g.parameter_count)); // a gradient of each, and the output
        for (std::uint64_t seed = 0; seed < 24; ++seed) {
            const int devices = 2 + static_cast<int>(seed % 4);
            const ts::strategy s = random_strategy(g, devices, seed + 5, seen);
            CAPTURE(row.name);
            CAPTURE(seed);
            ts::reference::backend many;
            const auto got = values_after(many, g, s, devices, data);
            REQUIRE(expected.size() == got.size());
            for (const auto& of_key : expected) {
                const auto& key = of_key.first; // clang 14 captures no structured binding
                const auto& values = of_key.second;
                const int result = key; // a structured binding cannot be captured
                CAPTURE(result);
                CHECK(relative(got.at(key), values, 1e-6) < 1e-4);
            }
        }
    }
}
