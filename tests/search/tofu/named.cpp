// SPDX-License-Identifier: Apache-2.0
// Tofu by name: what it finds keeps the rules, is verified, runs, and gives the numbers of one device.
#include "tessera/search/tofu/named.hpp"

#include "random_graph.hpp"
#include "support/instances.hpp"

#include "tessera/machine/presets.hpp"
#include "tessera/search/run.hpp"

#include <doctest/doctest.h>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

search::search_options with(std::initializer_list<std::pair<std::string_view, double>> values) {
    search::search_options o;
    for (const auto& [name, value] : values) {
        o.values.set(name, value);
    }
    return o;
}

} // namespace

TEST_CASE("tofu by name: never worse than the baselines unless it is to be faithful") {
    const ts::cluster on(ts::machines::p100_nodes(2, 2));
    for (unsigned seed = 0; seed < 10; ++seed) {
        const ts::graph g = tests::tofu_graph_maker(seed).trained(6);
        const auto step = [&](const ts::strategy& s) { return search::simulate_finished(g.view(), on, s).makespan; };
        const search::search_found found = search::run(search::tofu_record, g.view(), on);
        const search::search_found faithful = search::run(search::tofu_record, g.view(), on, with({{"faithful", 1}}));
        CHECK(step(found.best) <= step(faithful.best));
        CHECK(step(found.best) <= step(search::data_parallel(g.view(), 4)));
        CHECK(faithful.best == search::tofu_by_both_counts(g.view(), search::steps_for(2, 2)).best);
        CHECK(faithful.text.find("step by step: 2-way ") != std::string::npos);
        const auto timed =
            search::run(search::tofu_record, g.view(), on, with({{"faithful", 1}, {"tofu-simulations", 40}}));
        CHECK(timed.text.find(" simulations: ") != std::string::npos);
        const auto paper =
            search::run(search::tofu_record, g.view(), on, with({{"faithful", 1}, {"published-count", 1}}));
        search::tofu_options by_groups;
        by_groups.traffic.count = search::tofu_count::groups;
        CHECK(paper.best == search::tofu_search(g.view(), search::steps_for(2, 2), by_groups).best);
        const auto kept = search::run(search::tofu_record, g.view(), on, with({{"faithful", 1}, {"slices", 0}}));
        CHECK(!kept.best.sync.shards_parameters);
        CHECK(faithful.best.sync.shards_parameters);
    }
    const ts::graph g = tests::tofu_graph_maker(0).trained(3);
    CHECK_THROWS_AS(search::run(search::tofu_record, g.view(), on, with({{"slices", 2}})), ts::error);
    CHECK_THROWS_AS(search::run(search::tofu_record, g.view(), on, with({{"simulations", 2}})), ts::error);
}

TEST_CASE("what it finds is verified and computes what one device computes") {
    ts::workers threads(6);
    for (unsigned seed = 0; seed < 8; ++seed) {
        const ts::graph g = tests::tofu_graph_maker(seed).trained(5);
        const test_support::batch_data data(g.view(), seed);
        const ts::optimizer how = ts::sgd{.learning_rate = 0.05F};
        const test_support::oracle expected(g.view(), data, how, 2, 3);
        for (const int devices : {2, 4, 6}) {
            search::tofu_options o;
            o.traffic.slices_parameters = (seed + static_cast<unsigned>(devices) / 2) % 2 == 0;
            const search::tofu_result r = search::tofu_search(g.view(), search::steps_for(1, devices), o);
            ts::plan p = search::bound_plan(g.view(), r.best, devices);
            ts::complete(p);
            const ts::verdict v = ts::verify(g.view(), p);
            CAPTURE(seed);
            CAPTURE(devices);
            CHECK(!v);
            ts::reference::backend backend(how);
            ts::session<ts::reference::backend> session(g.view(), r.best, devices, how,
                                                        {.seed = 3, .keep_gradients = true}, backend, threads);
            const test_support::comparison c = test_support::compare(session, g.view(), data, expected);
            CHECK(c.loss < 1e-5);
            CHECK(c.gradient < 1e-4);
            CHECK(c.copies_equal);
        }
    }
}
