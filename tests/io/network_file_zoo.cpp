// SPDX-License-Identifier: Apache-2.0
#include "examples/zoo/zoo.hpp"
#include "support/same_network.hpp"
#include "tessera/io/exchange/network_file.hpp"

#include <doctest/doctest.h>

namespace {

namespace io = tessera::io;

} // namespace

TEST_CASE("network file: the zoo comes back the same, and for another number of samples is what its types describe") {
    const std::vector<const tessera::op_record*> own = networks::zoo_operators();
    int compared = 0;
    for (const networks::zoo_entry& entry : networks::zoo()) {
        const tessera::graph g = entry.describe(2);
        if (g.ops.size() > 600) {
            continue; // the same parts more often
        }
        CAPTURE(std::string(entry.name));
        const std::string text = io::to_text(io::to_json(g.view(), entry.name));
        CHECK(test_support::difference_of(g.view(), io::network_from_text(text, 0, "file", own).network.view()) == "");
        CHECK(test_support::difference_of(entry.describe(5).view(),
                                          io::network_from_text(text, 5, "file", own).network.view()) == "");
        ++compared;
    }
    CHECK(compared > 25);
}
