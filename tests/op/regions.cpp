// SPDX-License-Identifier: Apache-2.0
// Regions of operands against the indices that enumeration finds, for random shards.
#include "op/enumerate.hpp"
#include "op/nests.hpp"
#include "tessera/op/analysis.hpp"

#include <doctest/doctest.h>

#include <set>

namespace {

using namespace tests;

ts::interval random_part(random_numbers& random, ts::index_t extent) {
    const ts::index_t begin = random.below(extent);
    return {begin, begin + 1 + random.below(extent - begin)};
}

/// All indices of one dimension, also those outside the tensor.
std::set<ts::index_t> indices(const ts::description& d, const ts::operand& o, int k, const ts::interval* ranges) {
    std::set<ts::index_t> found;
    for_each_point(d, ranges, [&](const point& p) { found.insert(index_at(o, k, p)); });
    return found;
}

} // namespace

TEST_CASE("a region is the box around the touched indices; where it is larger, there are gaps") {
    random_numbers random{1};
    int exact = 0;
    int with_gaps = 0;
    for (const op_case& c : nests::every_row()) {
        const ts::description d = c.describe();
        for (int trial = 0; trial < 12; ++trial) {
            loop_ranges shard(d);
            for (int l = 0; l < d.loops.size(); ++l) {
                if (!d.loops[l].whole) {
                    shard.range[l] = random_part(random, d.loops[l].extent);
                }
            }
            for (int i = 0; i < d.operands.size(); ++i) {
                const ts::operand& o = d.operands[i];
                const ts::box region = ts::region(d, i, shard.range);
                CAPTURE(c.name);
                CAPTURE(i);
                REQUIRE(region.rank == o.extents.rank);
                for (int k = 0; k < region.rank; ++k) {
                    const ts::interval full{0, o.extents[k]};
                    if (o.dim[k].all) {
                        CHECK(region.dim[k] == full);
                        continue;
                    }
                    const std::set<ts::index_t> all = indices(d, o, k, shard.range);
                    const ts::interval hull{*all.begin(), *all.rbegin() + 1};
                    const bool gaps = static_cast<ts::index_t>(all.size()) < hull.size();
                    CHECK(region.dim[k] == ts::intersect(hull, full)); // never larger than the clamped hull
                    std::set<ts::index_t> inside;
                    for (const ts::index_t x : all) {
                        if (x >= 0 && x < o.extents[k]) {
                            inside.insert(x);
                        }
                    }
                    if (inside.empty()) {
                        CHECK((gaps || region.dim[k].empty()));
                        continue;
                    }
                    const ts::interval needed{*inside.begin(), *inside.rbegin() + 1};
                    CHECK(region.dim[k].contains(needed)); // never smaller than what is touched
                    if (gaps) {
                        ++with_gaps;
                    } else {
                        CHECK(region.dim[k] == needed);
                        ++exact;
                    }
                }
            }
        }
    }
    CHECK(exact > 1000);
    CHECK(with_gaps > 20); // the table has strides beyond windows and dilation
}

TEST_CASE("the halo of a convolution: window minus stride rows that two shards of the rows share") {
    const ts::op_attributes a =
        ts::attributes_of(ts::op_kind::conv2d,
                          ts::op::conv2d_attributes{.window = {5, 5}, .stride = {2, 1}, .padding = {2, 2}, .out = 1});
    const ts::shape x = ts::make_shape(1, 1, 16, 16);
    const ts::description d = ts::describe(a, &x, 1);
    loop_ranges upper(d);
    loop_ranges lower(d);
    const int rows = d.find_loop(ts::loop_name::height);
    upper.range[rows].end = lower.range[rows].begin = 4;
    CHECK(ts::region(d, 0, upper.range).dim[2] == ts::interval{0, 9});
    CHECK(ts::region(d, 0, lower.range).dim[2] == ts::interval{6, 16});
    CHECK(ts::region(d, 0, upper.range).dim[3] == ts::interval{0, 16});
}
