// SPDX-License-Identifier: Apache-2.0
// The best of the searches that suit a network, a machine and the time that there is.
#include "tessera/search/best.hpp"

#include "examples/networks.hpp"
#include "tessera/machine/presets.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

namespace ts = tessera;
namespace search = tessera::search;

struct inner : ts::linear<64> {};
struct out : ts::linear<16> {};
struct tiny : ts::sequential<ts::features<32>, inner, ts::relu, out, ts::cross_entropy> {};

std::vector<std::string_view> names(const ts::graph_view& g, const ts::cluster& on,
                                    const search::best_options& o = {}) {
    std::vector<std::string_view> all;
    for (const search::search_record* r : search::suited_searches(g, on, o)) {
        all.push_back(r->name);
    }
    return all;
}
bool has(const std::vector<std::string_view>& all, std::string_view name) {
    return std::find(all.begin(), all.end(), name) != all.end();
}

} // namespace

TEST_CASE("which searches suit: by devices, operators, and whether pipelines are wanted") {
    const ts::graph small = ts::describe<tiny>(16);
    const ts::graph large = ts::describe<networks::alexnet>(1024);
    const ts::cluster one(ts::machines::p100_nodes(1, 1));
    const ts::cluster four(ts::machines::p100_nodes(1, 4));
    const ts::cluster many(ts::machines::p100_nodes(64, 4));
    CHECK(!has(names(small.view(), one), "mcmc"));
    CHECK(has(names(small.view(), one), "single"));
    CHECK(has(names(small.view(), four), "exhaustive"));
    CHECK(!has(names(large.view(), four), "exhaustive"));
    CHECK(has(names(large.view(), four), "optimum"));
    CHECK(has(names(large.view(), four), "fit"));
    CHECK(!has(names(large.view(), four, {.pipelines = false}), "fit"));
    CHECK(has(names(large.view(), many), "grid"));
    CHECK(!has(names(large.view(), many), "optimum"));
    CHECK(has(names(large.view(), many), "grouped-optcnn"));
}

TEST_CASE("the fastest that fits is chosen, whatever found it, and has a bound") {
    const ts::graph g = ts::describe<tiny>(64);
    const ts::cluster on(ts::machines::p100_nodes(1, 4));
    std::vector<std::string> begun;
    const auto begins = [&](std::string_view name) { begun.emplace_back(name); };
    search::best_options o;
    o.seconds = 5;
    o.pipelines = false;
    o.begins = begins;
    const search::best_result r = search::best(g.view(), on, o);
    CHECK(begun.size() == r.all.size());
    CHECK(r.all.size() > 5);
    for (const search::searched& s : r.all) {
        if (s.refused.empty()) {
            CHECK(r.all[r.chosen].step.makespan <= s.step.makespan);
            CHECK(s.step.makespan == search::simulate_finished(g.view(), on, s.value).makespan);
        }
        CHECK(s.value.schedule.stages == 0);
    }
    const search::strategy_bound again = search::bound_of(g.view(), on, r.best());
    CHECK(r.bound.bound == again.bound);
    CHECK(r.bound.none == "");
    CHECK(to_text(r).find("> " + std::string(r.all[r.chosen].name)) != std::string::npos);
    CHECK(to_text(r).find("the best possible under the additive model") != std::string::npos);
}

TEST_CASE("without time there is an answer, and an interruption ends it") {
    const ts::graph g = ts::describe<networks::alexnet>(256);
    const ts::cluster on(ts::machines::p100_nodes(1, 4));
    search::best_options o;
    o.seconds = 0;
    o.bound = false;
    const search::best_result r = search::best(g.view(), on, o);
    CHECK(std::all_of(r.all.begin(), r.all.end(), [](const search::searched& s) {
        return search::search_named(s.name).is_baseline; // strategies designed by hand alone
    }));
    std::atomic<bool> enough{true};
    o.seconds = 60;
    o.interrupted = &enough;
    CHECK_THROWS_WITH_AS((void)search::best(g.view(), on, o), doctest::Contains("no search found a strategy"),
                         ts::error);
}

TEST_CASE("what fits is chosen before what is faster and does not") {
    const ts::graph g = ts::describe<networks::alexnet>(256);
    ts::device_graph machine = ts::machines::p100_nodes(1, 4);
    search::best_options o;
    o.seconds = 0;
    o.bound = false;
    const search::best_result free = search::best(g.view(), ts::cluster(machine), o);
    const auto most = [](const search::searched& s) {
        return *std::max_element(s.step.peak_bytes.begin(), s.step.peak_bytes.end());
    };
    ts::index_t least = INT64_MAX;
    for (const search::searched& s : free.all) {
        least = std::min(least, most(s));
    }
    REQUIRE(least < most(free.all[free.chosen]));
    for (ts::device_class& c : machine.classes) {
        c.memory_bytes = least;
    }
    const search::best_result tight = search::best(g.view(), ts::cluster(machine), o);
    CHECK(tight.all[tight.chosen].step.fits);
    CHECK(tight.all[tight.chosen].step.makespan > free.all[free.chosen].step.makespan);
}

TEST_CASE("where nothing fits the fastest of all is returned, which says so") {
    const ts::graph g = ts::describe<networks::alexnet>(256);
    ts::device_graph tight = ts::machines::p100_nodes(1, 2);
    for (ts::device_class& c : tight.classes) {
        c.memory_bytes = 1'000'000;
    }
    search::best_options o;
    o.seconds = 0;
    const search::best_result r = search::best(g.view(), ts::cluster(tight), o);
    CHECK(!r.all[r.chosen].step.fits);
    CHECK(to_text(r).find("which does not fit") != std::string::npos);
}
