// SPDX-License-Identifier: Apache-2.0
// The certified optimum of networks against all choices, at every limit of memory that makes a difference.
#include "tessera/search/certified/optimum.hpp"

#include "examples/networks.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/run.hpp"

#include <doctest/doctest.h>

#include <map>

namespace {

namespace ts = tessera;
namespace search = tessera::search;
using ts::index_t;

struct inner : ts::linear<96> {};
struct out : ts::linear<64> {};
struct first : ts::linear<2048> {};
struct second : ts::linear<1024> {};
struct wide : ts::sequential<ts::features<64>, first, second, out, ts::cross_entropy> {};
struct tiny : ts::sequential<ts::features<128>, inner, ts::relu, out, ts::cross_entropy> {};

ts::cluster linked(int devices, index_t memory_bytes, index_t link_megabytes = 20) {
    ts::machine m{.devices = devices,
                  .gigaflops = 50,
                  .memory_megabytes = 20'000,
                  .link_megabytes = link_megabytes,
                  .link_latency = 300,
                  .launch = 200};
    m.capacity = memory_bytes;
    return ts::cluster(ts::fully_linked(m));
}

/// The memory that the search says would do where devices have so much; 0: it finds something.
index_t told(const ts::graph_view& g, index_t bytes) {
    try {
        (void)search::optimum_search(g, linked(4, bytes, 400));
    } catch (const ts::error& e) {
        const std::string text = e.what();
        const std::size_t end = text.rfind(" would do");
        const std::size_t begin = text.rfind(' ', end - 1) + 1;
        return std::stoll(text.substr(begin, end - begin));
    }
    return 0;
}

/// The cheapest cost for every amount of memory that some choice uses.
std::map<std::int64_t, search::cost_t> all_choices(const search::optcnn_problem& p,
                                                   const std::vector<std::vector<std::int64_t>>& usages) {
    std::map<std::int64_t, search::cost_t> least;
    std::vector<search::choice_t> choice(usages.size(), 0);
    while (true) {
        const auto [place, fresh] = least.try_emplace(search::used_by(usages, choice), search::forbidden);
        place->second = std::min(place->second, p.costs.cost(choice));
        std::size_t v = 0;
        while (v < choice.size() && ++choice[v] == usages[v].size()) {
            choice[v++] = 0;
        }
        if (v == choice.size()) {
            return least;
        }
    }
}

} // namespace

TEST_CASE("the optimum equals the cheapest of all choices at every limit of memory") {
    const ts::graph g = ts::describe<tiny>(16);
    const ts::cluster free = linked(4, 0);
    const auto problem = search::make_optcnn_problem(g.view(), free);
    const auto usages = search::detail::most_resident(g.view(), problem, 2);
    const auto all = all_choices(problem, usages);
    REQUIRE(all.size() > 50);
    search::cost_t before = search::forbidden;
    int cheaper = 0;
    search::modelled_options few;
    few.enough = 0;
    few.otherwise.round_work = 100'000;
    int number = 0;
    for (const auto& [limit, unused] : all) {
        if (++number % 8 != 0) {
            continue;
        }
        search::cost_t least = search::forbidden;
        for (const auto& [used, cost] : all) {
            least = used <= limit ? std::min(least, cost) : least;
        }
        const search::modelled_choice found = search::solve_modelled(problem.costs, usages, limit, few);
        REQUIRE(found.state == search::status::solved);
        CHECK(found.cost == least);
        CHECK(found.bound == least);
        CHECK(found.used <= limit);
        CHECK(problem.costs.cost(found.choice) == least);
        cheaper += least < before ? 1 : 0;
        before = least;
    }
    CHECK(cheaper > 1); // memory makes a difference
    const search::modelled_choice none = search::solve_modelled(problem.costs, usages, all.begin()->first - 1);
    CHECK(none.state == search::status::infeasible);
    CHECK(none.least_used == all.begin()->first);
}

TEST_CASE(
    "less memory costs time; where plans need more than the model says its limit is lowered, and the bound stays") {
    const ts::graph g = ts::describe<wide>(512);
    const search::optimum_result one = search::optimum_search(g.view(), linked(4, 0, 400));
    CHECK(one.gap() == 0);
    CHECK(one.tightened == 0);
    CHECK(to_text(one).find("the best possible") != std::string::npos);
    const ts::index_t used = one.model.used;
    const search::optimum_result roomy = search::optimum_search(g.view(), linked(4, used * 110 / 100, 400));
    CHECK(roomy.fits);
    CHECK(roomy.model.cost == one.model.cost);
    CHECK(search::fits(g.view(), linked(4, used * 110 / 100, 400), roomy.best));
    const auto problem = search::make_optcnn_problem(g.view(), linked(4, 0, 400));
    const search::modelled_choice less =
        search::solve_modelled(problem.costs, search::detail::most_resident(g.view(), problem, 0), used * 99 / 100);
    CHECK(less.cost > one.model.cost);
    CHECK(less.used <= used * 99 / 100);
    // By the model it would fit, but what is gathered comes on top: the next best is tried, then what needs little, and
    // what is left is refused with what would do.
    CHECK(!search::fits(g.view(), linked(4, used * 104 / 100, 400), one.best));
    const ts::index_t would_do = told(g.view(), used * 104 / 100);
    REQUIRE(would_do > used * 104 / 100);
    for (ts::index_t bytes = used; bytes <= 2 * used; bytes += used / 50) {
        CAPTURE(bytes);
        const ts::index_t said = told(g.view(), bytes);
        CHECK(said == (bytes < would_do && said > 0 ? would_do : 0)); // whatever there is
        if (said == 0) {
            const search::optimum_result found = search::optimum_search(g.view(), linked(4, bytes, 400));
            CHECK(found.fits);
            CHECK(search::fits(g.view(), linked(4, bytes, 400), found.best));
            CHECK(found.model.cost >= one.model.cost);
            CHECK(found.model.bound <= found.model.cost);
        }
    }
    const search::optimum_result lowered = search::optimum_search(g.view(), linked(4, would_do, 400));
    CHECK(lowered.fits);
    CHECK(to_text(lowered).find(lowered.lean ? "that need little memory" : "under the additive model") !=
          std::string::npos);
    search::optimum_options any;
    any.memory = false;
    CHECK(search::optimum_search(g.view(), linked(4, 1000, 400), any).model.cost == one.model.cost);
}

TEST_CASE("too little memory is refused with what would do") {
    const ts::graph g = ts::describe<tiny>(16);
    const auto problem = search::make_optcnn_problem(g.view(), linked(4, 0));
    std::int64_t least = 0; // which the plan needs more than
    for (const auto& u : search::detail::most_resident(g.view(), problem, 0)) {
        least += *std::min_element(u.begin(), u.end());
    }
    const ts::index_t would_do = told(g.view(), least - 1);
    CHECK(would_do >= least);
    CHECK_THROWS_WITH_AS((void)search::optimum_search(g.view(), linked(4, least - 1, 400)),
                         doctest::Contains("no strategy was found that fits in"), ts::error);
    CHECK(told(g.view(), would_do) == 0);
    const search::optimum_result enough = search::optimum_search(g.view(), linked(4, would_do, 400));
    CHECK(search::fits(g.view(), linked(4, would_do, 400), enough.best));
}

TEST_CASE("by name: no dearer under the model than what OptCNN finds, and the text says the bound") {
    const ts::graph g = ts::describe<networks::alexnet>(64);
    const ts::cluster on(ts::machines::p100_nodes(1, 4));
    search::search_options o;
    o.values.set("faithful", 1);
    const search::search_found found = search::run(search::optimum_record, g.view(), on, o);
    CHECK(found.text.find(" ms under the additive model of its links, the best possible") != std::string::npos);
    const auto problem = search::make_optcnn_problem(g.view(), on);
    const search::optcnn_result optcnn = search::solve_optcnn(g.view(), problem, 4);
    CHECK(search::optimum_search(g.view(), on).model.cost <= optcnn.cost);
    o.values.set("optimum-rounds", 0);
    CHECK_THROWS_AS((void)search::run(search::optimum_record, g.view(), on, o), ts::error);
}
