// SPDX-License-Identifier: Apache-2.0
// Redistribution against element-wise brute force, and the collectives against closed formulas.
#include "tessera/layout/redistribute.hpp"

#include "support/random_strategy.hpp"

#include <doctest/doctest.h>

#include <map>
#include <vector>

namespace {

namespace ts = tessera;
using random_numbers = test_support::random;

struct layout_of_pieces {
    std::vector<ts::piece> pieces;
    int parts = 1;
};

/// A random grid of boxes with uneven cuts, every box in `parts` parts, some of them with copies.
layout_of_pieces random_layout(const ts::shape& s, int devices, bool partial, random_numbers& pick) {
    layout_of_pieces result;
    result.parts = partial ? 1 + pick(3) : 1;
    const int copies = 1 + pick(2);
    std::vector<ts::box> boxes{ts::whole(s)};
    for (int d = 0; d < s.rank; ++d) {
        std::vector<ts::index_t> cuts{0};
        for (ts::index_t i = 1; i < s[d]; ++i) {
            if (pick(3) == 0) {
                cuts.push_back(i);
            }
        }
        cuts.push_back(s[d]);
        std::vector<ts::box> next;
        for (const ts::box& b : boxes) {
            for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
                next.push_back(b);
                next.back().dim[d] = {cuts[k], cuts[k + 1]};
            }
        }
        boxes = next;
    }
    for (const ts::box& b : boxes) {
        for (int part = 0; part < result.parts; ++part) {
            for (int c = 0; c < copies; ++c) {
                result.pieces.push_back({b, pick(devices), part, -1});
            }
        }
    }
    return result;
}

template <class Visit>
void for_each_element(const ts::shape& s, Visit visit) {
    for (ts::index_t flat = 0; flat < s.volume(); ++flat) {
        ts::box one{s.rank, {}};
        ts::index_t rest = flat;
        for (int d = s.rank - 1; d >= 0; --d) {
            one.dim[d] = {rest % s[d], rest % s[d] + 1};
            rest /= s[d];
        }
        visit(one);
    }
}

ts::box rows(ts::index_t from, ts::index_t to, ts::index_t columns) { return {2, {{from, to}, {0, columns}}}; }
ts::box columns(ts::index_t from, ts::index_t to, ts::index_t all_rows) { return {2, {{0, all_rows}, {from, to}}}; }

} // namespace

TEST_CASE("every element of every target gets every part exactly once, and the bytes are those that cross") {
    random_numbers pick{3};
    int cleared = 0;
    for (int round = 0; round < 400; ++round) {
        const int devices = 1 + pick(5);
        ts::shape s{1 + pick(3), {}};
        for (int d = 0; d < s.rank; ++d) {
            s.extent[d] = 1 + pick(6);
        }
        const layout_of_pieces from = random_layout(s, devices, true, pick);
        const layout_of_pieces to = random_layout(s, devices, false, pick);
        const ts::index_t bytes_each = round % 2 == 0 ? 4 : 8;
        const ts::redistributed r = ts::redistribute(from.pieces, to.pieces, bytes_each);
        REQUIRE(r.recipes.size() == to.pieces.size());
        ts::index_t moved = 0;
        std::map<int, ts::index_t> received;
        for (std::size_t i = 0; i < to.pieces.size(); ++i) {
            const ts::piece& target = to.pieces[i];
            int overwritten = 0;
            for_each_element(s, [&](const ts::box& one) {
                const bool wanted = target.region.contains(one);
                std::vector<int> times(ts::to_size(from.parts), 0);
                bool written = r.recipes[i].clear;
                for (const ts::segment& seg : r.recipes[i].segments) {
                    if (!seg.region.contains(one)) {
                        continue;
                    }
                    const ts::piece& source = from.pieces[ts::to_size(seg.source)];
                    REQUIRE(source.region.contains(one));
                    REQUIRE((seg.first || written)); // added to something that is there
                    REQUIRE(!(seg.first && written));
                    written = true;
                    overwritten += seg.first ? 1 : 0;
                    ++times[ts::to_size(source.summand)];
                    const ts::index_t bytes = source.device == target.device ? 0 : bytes_each;
                    moved += bytes;
                    received[target.device] += bytes;
                    // A copy on the target's own device is preferred.
                    for (const ts::piece& other : from.pieces) {
                        REQUIRE((bytes == 0 || other.device != target.device || other.summand != source.summand ||
                                 !other.region.contains(one)));
                    }
                }
                for (int n : times) {
                    REQUIRE(n == (wanted ? 1 : 0));
                }
            });
            REQUIRE(overwritten == target.region.volume());
        }
        ts::index_t worst = 0;
        for (const auto& [device, bytes] : received) {
            worst = std::max(worst, bytes);
        }
        CHECK(r.bytes == moved);
        CHECK(r.worst_bytes == worst);
        CHECK((r.kind == ts::collective::none) == (moved == 0));
    }
    // Where no part covers the target whole (contributions to a gradient with halos) it is cleared, and all are added.
    for (int round = 0; round < 200; ++round) {
        std::vector<ts::piece> from;
        for (int k = 0; k < 3; ++k) {
            const ts::index_t begin = pick(6);
            from.push_back({{1, {{begin, begin + 1 + pick(6)}}}, pick(3), k, -1});
        }
        const ts::box target{1, {{1, 8}}};
        const ts::copy_recipe g = ts::copy_recipe_for(from, target, 0, 0);
        bool exactly = true; // every element has one contribution
        for (ts::index_t x = 0; x < 10; ++x) {
            int expected = 0;
            int found = 0;
            for (const ts::piece& p : from) {
                expected += x >= 1 && x < 8 && p.region.contains(ts::box{1, {{x, x + 1}}}) ? 1 : 0;
            }
            for (const ts::segment& seg : g.segments) {
                found += seg.region.contains(ts::box{1, {{x, x + 1}}}) ? 1 : 0;
                CHECK(!(seg.first && g.clear));
            }
            CHECK(found == expected);
            exactly = exactly && (x < 1 || x >= 8 || expected == 1);
        }
        CHECK(g.clear == !(from[0].region.contains(target) || exactly));
        cleared += g.clear ? 1 : 0;
    }
    CHECK(cleared > 10);
}

TEST_CASE("collectives by name and by formula") {
    for (const ts::index_t n : {2, 4, 8}) {
        const ts::index_t h = 16;
        const ts::index_t w = 24;
        const ts::box all = rows(0, h, w);
        const ts::index_t bytes = h * w * 4;
        std::vector<ts::piece> wholes;
        std::vector<ts::piece> parts;
        std::vector<ts::piece> by_rows;
        std::vector<ts::piece> by_columns;
        std::vector<ts::piece> shifted;
        for (int d = 0; d < n; ++d) {
            wholes.push_back({all, d, 0, -1});
            parts.push_back({all, d, d, -1});
            by_rows.push_back({rows(d * h / n, (d + 1) * h / n, w), d, 0, -1});
            by_columns.push_back({columns(d * w / n, (d + 1) * w / n, h), d, 0, -1});
            shifted.push_back({by_rows.back().region, static_cast<int>((d + 1) % n), 0, -1});
        }
        const auto check = [&](const std::vector<ts::piece>& from, const std::vector<ts::piece>& to,
                               ts::collective kind, ts::index_t total, ts::index_t worst) {
            const ts::redistributed r = ts::redistribute(from, to, 4);
            CAPTURE(std::string(ts::to_text(kind)));
            CAPTURE(n);
            CHECK(std::string(ts::to_text(r.kind)) == ts::to_text(kind));
            CHECK(r.bytes == total);
            CHECK(r.worst_bytes == worst);
        };
        check(by_rows, by_rows, ts::collective::none, 0, 0);
        check(wholes, by_rows, ts::collective::none, 0, 0);
        check(by_rows, wholes, ts::collective::all_gather, (n - 1) * bytes, (n - 1) * bytes / n);
        check(parts, by_rows, ts::collective::reduce_scatter, (n - 1) * bytes, (n - 1) * bytes / n);
        check(parts, wholes, ts::collective::all_reduce, n * (n - 1) * bytes, (n - 1) * bytes);
        check(by_rows, by_columns, ts::collective::all_to_all, (n - 1) * bytes / n, (n - 1) * bytes / n / n);
        check({wholes[0]}, wholes, ts::collective::broadcast, (n - 1) * bytes, bytes);
        check({wholes[0]}, {wholes[1]}, ts::collective::send, bytes, bytes);
        check({wholes[0]}, by_rows, ts::collective::scatter, (n - 1) * bytes / n, bytes / n);
        check(by_rows, shifted, ts::collective::send, bytes, bytes / n);
        check(by_rows, {wholes[0]}, ts::collective::gather, (n - 1) * bytes / n, (n - 1) * bytes / n);
        check(parts, {wholes[0]}, ts::collective::reduce, (n - 1) * bytes, (n - 1) * bytes);
    }
}
