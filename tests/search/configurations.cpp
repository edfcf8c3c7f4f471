// SPDX-License-Identifier: Apache-2.0
#include "tessera/search/configurations.hpp"

#include "examples/networks.hpp"
#include "tessera/strategy/strategy.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;

struct grouped : ts::conv2d<6, ts::window<3>, ts::groups<2>> {};
struct norm : ts::batch_norm<> {};
struct head : ts::linear<5> {};
struct net
    : ts::sequential<ts::image<4, 7, 6>, grouped, norm, ts::average_pool<2>, ts::flatten, head, ts::cross_entropy> {};

/// Degrees from 1 to `devices` along every loop, legal or not.
template <class Visit>
void for_all_degrees(ts::configuration c, int loops, int l, int devices, Visit&& visit) {
    if (l == loops) {
        visit(c);
        return;
    }
    for (int n = 1; n <= devices; ++n) {
        c.degree[l] = n;
        for_all_degrees(c, loops, l + 1, devices, visit);
    }
}

} // namespace

TEST_CASE("configurations: exactly the legal ones, each once") {
    const ts::graph g = ts::describe<net>(6);
    const int devices = 6;
    for (int op = 0; op < g.view().op_count; ++op) {
        const ts::description d = g.view().describe(op);
        for (const bool uneven : {false, true}) {
            ts::search::configuration_options options;
            options.powers_of = 0;
            options.uneven = uneven;
            const auto found = ts::search::enumerate(d, devices, options);
            std::size_t legal = 0;
            for_all_degrees({}, std::min(d.loops.size(), 6), 0, devices, [&](const ts::configuration& c) {
                ts::strategy s(g.view());
                s.ops[ts::to_size(op)] = c;
                s.ops[ts::to_size(op)].uneven = uneven;
                s.ops[ts::to_size(op)].reduces = true;
                const bool ok = !ts::check_configuration(g.view(), s.view(), op, devices);
                legal += ok;
                std::size_t times = 0;
                for (const ts::configuration& f : found) {
                    bool same = true;
                    for (int l = 0; l < ts::max_loops; ++l) {
                        same = same && f.degree[l] == c.degree[l];
                    }
                    times += same;
                }
                REQUIRE(times == (ok ? 1 : 0));
            });
            CHECK(found.size() == legal);
            CHECK(static_cast<int>(found.size()) == ts::search::count_configurations(d, devices, options));
            for (const ts::configuration& c : found) { // with the flags that they need, and no others
                ts::strategy s(g.view());
                s.ops[ts::to_size(op)] = c;
                CHECK(!ts::check_configuration(g.view(), s.view(), op, devices));
            }
        }
    }
}

TEST_CASE("configurations: OptCNN's numbers of configurations") {
    // Four loops of a large convolution at powers of two, and five with the reduction.
    const ts::graph g = ts::describe<networks::vgg16>(512);
    const ts::description conv = g.view().describe(2);
    const int with_four[] = {1, 5, 15, 35, 70};
    const int with_five[] = {1, 6, 21, 56, 126};
    ts::search::configuration_options paper;
    paper.with_reduction = false;
    for (int i = 0; i < 5; ++i) {
        CHECK(ts::search::count_configurations(conv, 1 << i, paper) == with_four[i]);
        CHECK(ts::search::count_configurations(conv, 1 << i) == with_five[i]);
    }
}

TEST_CASE("configurations: options leave roles out") {
    const ts::graph g = ts::describe<networks::lenet5>(8);
    const ts::description loss = g.view().describe(g.view().op_count - 1);
    ts::search::configuration_options options;
    CHECK(ts::search::count_configurations(loss, 2, options) == 3);
    options.with_coupled = false;
    CHECK(ts::search::count_configurations(loss, 2, options) == 2);
    CHECK(ts::search::count_configurations(loss, 0, options) == 1);
}

TEST_CASE("configurations: the same in a constant expression") {
    constexpr ts::description d = ts::describe<networks::lenet5, 8>().describe(3);
    constexpr int count = ts::search::count_configurations(d, 4);
    constexpr auto some = ts::search::enumerate_some<count>(d, 4);
    const auto all = ts::search::enumerate(d, 4);
    REQUIRE(some.size() == static_cast<int>(all.size()));
    for (int i = 0; i < some.size(); ++i) {
        CHECK(some[i] == all[ts::to_size(i)]);
    }
}
