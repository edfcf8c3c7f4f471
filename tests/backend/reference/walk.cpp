// SPDX-License-Identifier: Apache-2.0
// Walks over the points of some loops: each point once, and one point where there are no loops.
#include "tessera/backend/reference/walk.hpp"
#include "tessera/op/library.hpp"

#include <doctest/doctest.h>

namespace ts = tessera;

TEST_CASE("a walk comes to every point of its loops once, and to one point where it has none") {
    const ts::op_attributes relu{.kind = ts::op_kind::relu};
    const ts::shape x = ts::make_shape(3, 4);
    const ts::description d = ts::record_of(relu).describe(relu, &x, 1);
    const ts::interval ranges[] = {{0, 3}, {1, 4}};
    for (std::uint32_t loops = 0; loops < 4; ++loops) {
        CAPTURE(loops);
        const ts::reference::detail::cursor where[] = {ts::reference::detail::place(d.operands[0], ts::whole(x))};
        ts::index_t points = 0;
        ts::reference::detail::walk(d, loops, ranges, 0, where, [&](const auto& run) {
            points += run.count;
            CHECK((loops != 0 || run.step[0] == 0));
        });
        CHECK(points == ((loops & 1U) != 0 ? 3 : 1) * ((loops & 2U) != 0 ? 3 : 1));
    }
}
