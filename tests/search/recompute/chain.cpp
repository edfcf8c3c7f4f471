// SPDX-License-Identifier: Apache-2.0
// The choice of parts of a chain is the best there is: held against all choices of small random chains.
#include "tessera/search/recompute/chain.hpp"

#include "support/random_strategy.hpp"
#include "support/refusal.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using search::chain_part;
using ts::index_t;

/// Tries every choice from `place` on; the least time within the limit, or -1, and the least peak of all.
struct every_choice {
    int places;
    const std::vector<chain_part>& parts;
    index_t limit;
    index_t time = -1;
    index_t peak = -1;

    void go(int place, index_t stored, index_t spent, index_t most) {
        if (place == places) {
            time = most <= limit && (time < 0 || spent < time) ? spent : time;
            peak = peak < 0 ? most : std::min(peak, most);
            return;
        }
        for (const chain_part& x : parts) {
            if (x.first == place) {
                go(x.last, stored + x.stored, spent + x.time, std::max(most, stored + x.alive));
            }
        }
    }
};

} // namespace

TEST_CASE("a chain's choice takes the least time of all choices within the limit, and its least limit is the least") {
    test_support::random pick{41};
    int met = 0;
    int none = 0;
    for (int i = 0; i < 300; ++i) {
        CAPTURE(i);
        const int places = 1 + pick(6);
        std::vector<chain_part> parts;
        for (int first = 0; first < places; ++first) {
            for (int last = first + 1; last <= std::min(places, first + 3); ++last) {
                for (int way = pick(3); way < 3; ++way) {
                    const index_t stored = pick(20);
                    parts.push_back({first, last, stored, stored + pick(20), pick(20)});
                }
            }
        }
        const index_t limit = pick(80);
        every_choice all{places, parts, limit};
        all.go(0, 0, 0, 0);
        const search::chain_choice best = search::cheapest_chain(places, parts, limit);
        CHECK(best.found == (all.time >= 0));
        CHECK(search::least_chain_limit(places, parts) == all.peak);
        if (!best.found) {
            ++none;
            continue;
        }
        ++met;
        CHECK(best.time == all.time);
        index_t stored = 0, time = 0, peak = 0;
        int place = 0;
        for (const int p : best.parts) {
            const chain_part& x = parts[ts::to_size(p)];
            CHECK(x.first == place);
            peak = std::max(peak, stored + x.alive);
            stored += x.stored;
            time += x.time;
            place = x.last;
        }
        CHECK(place == places);
        CHECK(time == best.time);
        CHECK(peak == best.peak);
        CHECK(peak <= limit);
        CHECK(search::cheapest_chain(places, parts, limit).parts == best.parts);
    }
    CHECK(met > 50);
    CHECK(none > 50);
}

TEST_CASE("equal blocks of a chain: sqrt(n) of them together store least (Chen et al. 2016, section 4)") {
    constexpr int blocks = 16;
    std::vector<chain_part> parts; // of blocks that store 1 at their end and 4 inside
    for (int first = 0; first < blocks; ++first) {
        for (int last = first + 1; last <= blocks; ++last) {
            parts.push_back({first, last, 1, 4 * (last - first), last - first});
        }
    }
    const auto even = [](int k) { return index_t{blocks / k - 1 + 4 * k}; };
    const index_t least = search::least_chain_limit(blocks, parts);
    CHECK(least <= std::min({even(1), even(2), even(4), even(8)}));
    const search::chain_choice best = search::cheapest_chain(blocks, parts, least);
    CHECK(best.time == blocks);
    CHECK(best.parts.size() >= 6);
}

TEST_CASE("parts that go nowhere are refused, and a gap has no choice") {
    const std::vector<chain_part> gap{{0, 1, 1, 1, 0}, {2, 3, 1, 1, 0}};
    CHECK(!search::cheapest_chain(3, gap, 100).found);
    CHECK(search::least_chain_limit(3, gap) == -1);
    for (const chain_part& wrong : {chain_part{1, 1}, chain_part{0, 4}, chain_part{-1, 1}}) {
        CHECK(test_support::contains(test_support::message_of([&] { (void)search::cheapest_chain(3, {wrong}, 100); }),
                                     "a chain of 3 places"));
    }
}
