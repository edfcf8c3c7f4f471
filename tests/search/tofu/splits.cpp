// SPDX-License-Identifier: Apache-2.0
// Steps of splits as configurations: every device has the part that halving group by group gives it, and what may be
// split follows from roles.
#include "tessera/search/tofu/splits.hpp"

#include "random_graph.hpp"

#include "tessera/op/conv2d.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

ts::description conv() {
    const ts::shape x = ts::make_shape(16, 8, 32, 32);
    return ts::describe(ts::conv2d<32, ts::window<3>, ts::padding<1>>::attributes, &x, 1);
}

} // namespace

TEST_CASE("partition-n-reduce strategies of a convolution: samples, channels, rows, columns, and the sum over input "
          "channels") {
    const ts::description d = conv();
    const auto count = [&](const search::tofu_splits& which, int parts, int factor) {
        int n = 0;
        for (int l = 0; l < d.loops.size(); ++l) {
            n += search::may_split(d, l, which, parts, factor) ? 1 : 0;
        }
        return n;
    };
    CHECK(count({}, 1, 2) == 5);
    CHECK(count({.with_reduction = false}, 1, 2) == 4);
    CHECK(count({}, 1, 3) == 0);
    CHECK(count({}, 8, 2) == 4);  // 8 input channels are apart
    CHECK(count({}, 16, 2) == 3); // and 16 samples
    const int sums = d.find_loop(ts::loop_name::reduction);
    CHECK(search::may_split(d, sums, {}, 1, 8));
    CHECK(!search::may_split(d, sums, {.with_reduction = false}, 1, 8));
    CHECK(search::may_split(d, sums, {}, 1, 3, true));
    CHECK(!search::may_split(d, d.find_loop(ts::loop_name::window_height), {}, 1, 3));
}

TEST_CASE("steps: prime factors, nodes first, the largest of each first") {
    using list = std::vector<int>;
    CHECK(search::steps_for(1, 8).factors == list{2, 2, 2});
    CHECK(search::steps_for(1, 8).strides == list{4, 2, 1});
    CHECK(search::steps_for(2, 6).factors == list{2, 3, 2});
    CHECK(search::steps_for(3, 10).strides == list{10, 2, 1});
    CHECK(search::steps_for(1, 1).count() == 0);
    CHECK(search::steps_for(4, 3).first(2).strides == list{2, 1});
}

TEST_CASE("a configuration gives every device the part of its groups") {
    const ts::description d = conv();
    std::mt19937 random{5};
    int listed = 0;
    for (int round = 0; round < 500; ++round) {
        search::tofu_steps steps;
        for (int n = static_cast<int>(random() % 4); n >= 0; --n) {
            steps.factors.push_back(2 + static_cast<int>(random() % 2));
        }
        steps.strides = search::tofu_steps::strides_of(steps.factors);
        std::vector<int> history;
        int devices = 1;
        for (const int f : steps.factors) {
            history.push_back(static_cast<int>(random() % 5) - 1); // copies, samples, channels, rows, columns
            devices *= f;
        }
        std::vector<ts::index_t> pool{7, 7};
        const ts::configuration c = search::configuration_of(d, history, steps, pool);
        REQUIRE(c.shards() == devices);
        listed += c.devices >= 0 ? 1 : 0;
        std::vector<int> seen(ts::to_size(devices), 0);
        for (int i = 0; i < devices; ++i) {
            const ts::shard s = ts::shard_at(c, pool.data(), d, i);
            ++seen[ts::to_size(s.device)];
            for (int l = 0; l < d.loops.size(); ++l) {
                int place = 0; // of the device's part among those of the loop, step by step
                int parts = 1;
                int rest = s.device;
                for (std::size_t k = 0; k < history.size(); ++k) {
                    const int group = rest / steps.strides[k];
                    rest %= steps.strides[k];
                    place = history[k] == l ? place * steps.factors[k] + group : place;
                    parts *= history[k] == l ? steps.factors[k] : 1;
                }
                CHECK(s.ranges[l] == ts::even_part(d.loops[l].extent, parts, place));
            }
        }
        CHECK(std::count(seen.begin(), seen.end(), 1) == devices);
    }
    CHECK(listed > 100);
    CHECK(listed < 400);
}
