// SPDX-License-Identifier: Apache-2.0
// Shards, each given its regions alone, compute together what one device computes: values and gradients of every
// operator, for every legal split of one loop. Of several loops at once: tests/op_test.
#include "op/nests.hpp"
#include "op/splits.hpp"

#include <doctest/doctest.h>

namespace {

using namespace tests;
using namespace tests::splits;

std::vector<ts::index_t> even_cuts(ts::index_t extent, ts::index_t degree) {
    std::vector<ts::index_t> cut;
    for (ts::index_t part = 1; part < degree; ++part) {
        cut.push_back(ts::even_part(extent, degree, part).begin);
    }
    return cut;
}

} // namespace

TEST_CASE("every legal split of one loop, even and uneven, gives the numbers of the whole") {
    int splits = 0; // of an operator: a loop, and by how much
    for (const op_case& c : nests::every_row()) {
        split_check shards(c);
        const ts::description& d = shards.d();
        for (int l = 0; l < d.loops.size(); ++l) {
            if (!ts::splittable(d, l)) {
                continue;
            }
            CAPTURE(c.name);
            CAPTURE(std::string(ts::to_text(d.loops[l].name)));
            const ts::index_t extent = d.loops[l].extent;
            for (ts::index_t degree = 2; degree <= extent && degree <= 3; ++degree) {
                ++splits;
                cuts cut(ts::to_size(d.loops.size()));
                cut[ts::to_size(l)] = even_cuts(extent, degree);
                shards.check(cut);
                cut[ts::to_size(l)] =
                    degree == 2 ? std::vector<ts::index_t>{1} : std::vector<ts::index_t>{1, 2}; // a long last shard
                shards.check(cut);
                cut[ts::to_size(l)] = {extent - 1};
                shards.check(cut);
            }
        }
    }
    CHECK(splits >= 500);
    MESSAGE(splits << " splits of " << nests::every_row().size() << " rows");
}
