// SPDX-License-Identifier: Apache-2.0
// Roles and legal splits against their definitions, by enumeration of all points.
#include "op/enumerate.hpp"
#include "op/nests.hpp"
#include "support/known_operators.hpp"
#include "tessera/op/analysis.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <iterator>
#include <string>

namespace {

using namespace tests;
using ts::loop_role;
using ts::operand;
using ts::operand_kind;

loop_role role_by_enumeration(const ts::description& d, int l) {
    for (int k = 0; k + 1 < d.nests.size(); ++k) {
        if (ts::has(d.nests[k].loops, l) && !moves(d, d.operands[d.nests[k].write], l)) {
            return loop_role::coupled;
        }
    }
    const operand& out = d.operands[d.nests[d.nests.size() - 1].write];
    if (!moves(d, out, l)) {
        return loop_role::reduction;
    }
    for (const operand& o : d.operands) {
        if (o.kind == operand_kind::parameter && moves(d, o, l)) {
            return loop_role::parameter;
        }
    }
    bool samples = false; // changes the first dimension of the output
    loop_ranges all(d);
    all.range[l].end -= 1;
    for_each_point(d, all.range, [&](const point& p) {
        point next = p;
        ++next[ts::to_size(l)];
        samples = samples || index_at(out, 0, p) != index_at(out, 0, next);
    });
    return samples ? loop_role::sample : loop_role::attribute;
}

struct image {
    std::vector<bool> touched;
    ts::index_t count = 0;
    element_index lowest{};
    element_index highest{};

    bool is_box(int rank) const {
        ts::index_t volume = 1;
        for (std::size_t k = 0; k < ts::to_size(rank); ++k) {
            volume *= highest[k] - lowest[k] + 1;
        }
        return count == volume;
    }
};

image image_of(const ts::description& d, const operand& o, const ts::interval* ranges) {
    image m;
    m.touched.resize(ts::to_size(o.extents.volume()));
    for_each_point(d, ranges, [&](const point& p) {
        const element_index x = index_at(o, p);
        if (!is_inside(o, x)) {
            return; // what a transposed convolution writes into its padding is nobody's
        }
        const auto at = ts::to_size(row_major(o, x));
        if (m.count == 0) {
            m.lowest = m.highest = x;
        }
        if (m.touched[at]) {
            return;
        }
        m.touched[at] = true;
        ++m.count;
        for (std::size_t k = 0; k < ts::max_rank; ++k) {
            m.lowest[k] = std::min(m.lowest[k], x[k]);
            m.highest[k] = std::max(m.highest[k], x[k]);
        }
    });
    return m;
}

/// Whatever the cut, both shards write boxes, which do not overlap unless the loop is summed over.
bool splittable_by_enumeration(const ts::description& d, int l) {
    for (const ts::nest& n : d.nests) {
        const operand& o = d.operands[n.write];
        if (!moves(d, o, l)) {
            continue;
        }
        for (ts::index_t cut = 1; cut < d.loops[l].extent; ++cut) {
            loop_ranges low(d);
            loop_ranges high(d);
            low.range[l].end = high.range[l].begin = cut;
            const image a = image_of(d, o, low.range);
            const image b = image_of(d, o, high.range);
            if (!a.is_box(o.extents.rank) || !b.is_box(o.extents.rank)) {
                return false;
            }
            for (std::size_t i = 0; i < a.touched.size(); ++i) {
                if (a.touched[i] && b.touched[i]) {
                    return false;
                }
            }
        }
    }
    return true;
}

} // namespace

TEST_CASE("roles follow from their definitions") {
    for (const op_case& c : nests::every_row()) {
        const ts::description d = c.describe();
        for (int l = 0; l < d.loops.size(); ++l) {
            if (d.loops[l].extent < 2) {
                continue; // nothing moves
            }
            CAPTURE(c.name);
            CAPTURE(std::string(ts::to_text(d.loops[l].name)));
            CHECK(std::string(ts::to_text(ts::role(d, l))) == ts::to_text(role_by_enumeration(d, l)));
        }
    }
}

TEST_CASE("a loop is splittable exactly if its shards write disjoint boxes") {
    for (const op_case& c : nests::every_row()) {
        const ts::description d = c.describe();
        for (int l = 0; l < d.loops.size(); ++l) {
            CAPTURE(c.name);
            CAPTURE(std::string(ts::to_text(d.loops[l].name)));
            const bool may = !d.loops[l].whole && d.loops[l].extent > 1;
            CHECK(ts::splittable(d, l) == (may && splittable_by_enumeration(d, l)));
        }
    }
}

TEST_CASE("shards of a splittable loop cover what is written, each exactly its region") {
    for (const op_case& c : nests::every_row()) {
        const ts::description d = c.describe();
        for (int l = 0; l < d.loops.size(); ++l) {
            for (ts::index_t degree = 2; ts::splittable(d, l) && degree <= d.loops[l].extent && degree <= 3; ++degree) {
                for (const ts::nest& n : d.nests) {
                    const operand& o = d.operands[n.write];
                    ts::index_t written = 0;
                    for (ts::index_t part = 0; part < degree; ++part) {
                        loop_ranges shard(d);
                        shard.range[l] = ts::even_part(d.loops[l].extent, degree, part);
                        const image m = image_of(d, o, shard.range);
                        const ts::box r = ts::region(d, n.write, shard.range);
                        const bool gathered = o.extents.rank > 0 && o.dim[0].all;
                        CHECK(r.volume() == m.count * (gathered ? o.extents[0] : 1));
                        written += r.volume();
                    }
                    CAPTURE(c.name);
                    CHECK(written == o.extents.volume() * (moves(d, o, l) ? 1 : degree));
                }
            }
        }
    }
}

TEST_CASE("summed loops, forward and of gradients, are those that leave the index alone") {
    for (const op_case& c : nests::every_row()) {
        const ts::description d = c.describe();
        for (int l = 0; l < d.loops.size(); ++l) {
            if (d.loops[l].extent < 2) {
                continue;
            }
            CAPTURE(c.name);
            CAPTURE(std::string(ts::to_text(d.loops[l].name)));
            for (int k = 0; k < d.nests.size(); ++k) {
                CHECK(ts::has(ts::reduced_loops(d, k), l) ==
                      (ts::has(d.nests[k].loops, l) && !moves(d, d.operands[d.nests[k].write], l)));
            }
            for (int o = 0; o < d.operands.size(); ++o) {
                bool flows = false; // from a nest with this loop
                for (const ts::nest& n : d.nests) {
                    flows = flows || (ts::has(n.reads, o) && ts::has(n.loops, l));
                }
                flows = flows && ts::gradient_nest(d, o) >= 0;
                CHECK(ts::has(ts::gradient_reduced_loops(d, o), l) == (flows && !moves(d, d.operands[o], l)));
            }
        }
    }
}

TEST_CASE("gradients flow to inputs, parameters and inner sums, and to nothing else") {
    for (const op_case& c : nests::every_row()) {
        const ts::description d = c.describe();
        CAPTURE(c.name);
        for (int o = 0; o < d.operands.size(); ++o) {
            const operand& x = d.operands[o];
            const bool constant =
                c.attributes.kind == ts::op_kind::token_slots ||
                (c.attributes.kind == ts::op_kind::route && !c.attributes.as<ts::op::route_attributes>().weighted);
            const bool set_from_outside =
                x.kind == operand_kind::parameter &&
                (std::string(ts::record_of(c.attributes).name) == "class_weighted_cross_entropy" ||
                 (c.attributes.kind == ts::op_kind::fixed_batch_norm && x.slot == 2));
            const bool never = x.kind == operand_kind::output || x.kind == operand_kind::state ||
                               x.type == ts::element::i32 || constant || set_from_outside;
            if (never) {
                CHECK(ts::gradient_nest(d, o) == -1);
            } else if (x.kind != operand_kind::intermediate) {
                CHECK(ts::gradient_nest(d, o) >= 0);
            }
        }
    }
}

TEST_CASE("the table has every kind of operator, and legal rows only") {
    std::vector<bool> seen(std::size(ts::library_operators));
    for (const op_case& c : nests::every_row()) {
        CAPTURE(c.name);
        const ts::inferred shape = c.infer();
        REQUIRE_FALSE(static_cast<bool>(shape.refused));
        const ts::description d = c.describe();
        CHECK(shape.output == d.operands[d.output()].extents);
        seen[ts::to_size(test_support::number_of(c.attributes.kind))] = true;
    }
    for (const bool kind_seen : seen) {
        CHECK(kind_seen);
    }
}
