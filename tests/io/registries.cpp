// SPDX-License-Identifier: Apache-2.0
// Searches, schedules and policies by name: each row makes, on a small network, a strategy whose plan is sound and that
// comes back from a strategy file; names are unique, options mean one thing, and one's own are run like the library's.
#include "tessera/execute/local/search_threads.hpp"
#include "tessera/io/exchange/strategy_file.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/plan/finish.hpp"
#include "tessera/schedule/policies.hpp"
#include "tessera/schedule/schedules.hpp"
#include "tessera/search/searches.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <set>

namespace {

namespace ts = tessera;
namespace search = ts::search;
namespace schedule = ts::schedule;

struct head : ts::linear<24> {};
struct wide : ts::linear<24> {};
struct last : ts::linear<8> {};
struct blocks : ts::sequential<ts::features<24>, head, ts::repeat<5, wide, ts::relu>, last, ts::cross_entropy> {};

/// Its plan is verified, and it comes back from a file.
void check_strategy(const ts::graph_view& g, const ts::strategy& s, int devices, const ts::optimizer& update) {
    ts::lower_options o;
    o.update = update;
    ts::plan p = ts::lower(g, s.view(), devices, o);
    CHECK_NOTHROW(ts::finish(g, p));
    const std::string text = ts::io::to_json(g, s, devices).dump();
    CHECK(ts::is_same(ts::io::strategy_from_text(g, text).value, s));
}

template <class List>
void check_names(const List& all) {
    std::set<std::string_view> names;
    for (const auto* r : all) {
        CAPTURE(std::string(r->name));
        CHECK(names.insert(r->name).second);
        CHECK(!r->name.empty());
        CHECK(r->name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos);
        CHECK(!r->title.empty());
        CHECK(!r->about.empty());
        const std::string wrong = "x" + std::string(r->name);
        CHECK(&ts::find_record(ts::record_list(all), r->name, "row") == r);
        CHECK_THROWS_WITH_AS(ts::find_record(ts::record_list(all), wrong, "row"), doctest::Contains("there is no row"),
                             ts::error);
    }
}

/// Every option keeps to its own limits, and has one meaning and one pair of limits wherever it is one.
template <class List>
void check_options(const List& all, std::vector<ts::option_row>& seen) {
    for (const auto* r : all) {
        for (const ts::option_row& o : r->options) {
            if (o.name.empty()) {
                continue;
            }
            CAPTURE(std::string(o.name));
            CHECK(ts::refusal_of(o, o.usual) == "");
            CHECK(ts::refusal_of(o, o.least - 1) != "");
            CHECK(ts::refusal_of(o, o.most + 1) != "");
            CHECK(ts::refusal_of(o, (o.least + o.most) / 2 + 0.25).empty() == !o.whole);
            for (const ts::option_row& other : seen) {
                if (other.name == o.name) {
                    CHECK(other.about == o.about);
                    CHECK(other.least == o.least);
                    CHECK(other.most == o.most);
                    CHECK(other.whole == o.whole);
                }
            }
            seen.push_back(o);
        }
    }
}

} // namespace

TEST_CASE("names are unique, a wrong one is refused with what it may have meant, options mean one thing") {
    check_names(search::library_searches);
    check_names(schedule::library_schedules);
    check_names(schedule::library_policies);
    std::vector<ts::option_row> seen;
    check_options(search::library_searches, seen);
    check_options(schedule::library_schedules, seen);
    check_options(schedule::library_policies, seen);
    CHECK(seen.size() > 15);
    CHECK_THROWS_WITH_AS(
        ts::find_record(ts::record_list(search::library_searches), "mcmmc", "search"),
        "there is no search 'mcmmc'; did you mean mcmc?; there are mcmc, fit, exhaustive, grid, joint, "
        "optimum, tofu, pipeline, hypar-flow, optcnn, elimination, grouped-optcnn, data, proportional, "
        "one-weird-trick, model, "
        "single, mesh, megatron, megatron-sp, ulysses, ring, zigzag, placement, central-copy",
        ts::error);
    CHECK_THROWS_WITH_AS(ts::find_record(ts::record_list(schedule::library_policies), "zero-4", "policy", "see --list"),
                         "there is no policy 'zero-4'; did you mean zero-1, zero-2 or zero-3?; see --list", ts::error);
    std::size_t measured = 0; // wherever it stands in the list
    for (const search::search_record* r : search::library_searches) {
        measured += r->is_measured ? 1 : 0;
    }
    CHECK(search::measured_searches().size() == measured);
}

TEST_CASE("every search finds by its name what has a sound plan and comes back from a file") {
    const ts::graph network = ts::describe<blocks>(32);
    const ts::graph_view g = network.view();
    const ts::cluster on(ts::machines::p100_nodes(2, 2));
    const bool few = std::getenv("TESSERA_STRATEGIES") != nullptr; // of the counts of micro-batches
    for (const search::search_record* r : search::every_search()) {
        CAPTURE(std::string(r->name));
        search::search_options o;
        o.lowering.update = ts::sgd{.momentum = 0.9F};
        o.threads = ts::search_threads(2);
        int reports = 0;
        const auto count = [&](const search::search_progress&) { ++reports; };
        o.report = count;
        if (ts::find_option(*r, "proposals") != nullptr) {
            o.values.set("proposals", 20);
        }
        if (ts::find_option(*r, "simulations") != nullptr) {
            o.values.set("simulations", 4);
        }
        const ts::cluster two(ts::machines::p100_nodes(1, 2)); // where there are few strategies
        const ts::cluster& where = r == &search::exhaustive_record ? two : on;
        const search::search_found found = search::run(*r, g, where, o);
        check_strategy(g, found.best, where.devices(), o.lowering.update);
        CHECK((reports > 0) == !r->unit.empty());
        CHECK(search::run(*r, g, where, o).best == found.best); // pure
        // Of 32 samples, and 1 is asked for as any other number is. A grid of equal replicas divides the batch evenly.
        for (const int m : {1, 3, 4, 32, 33}) {
            if (few && m != 4 && m != 33) {
                continue;
            }
            CAPTURE(m);
            search::search_options cut = o;
            cut.micro_batches = m;
            int found_with = 0; // refused
            try {
                found_with = search::run(*r, g, where, cut).best.micro_batches;
            } catch (const ts::error&) {
            }
            const bool refuses = m == 33 || (m == 3 && r->name == std::string_view("grid"));
            CHECK(found_with == (refuses ? 0 : m));
        }
    }
}

TEST_CASE("options by name reach the search, and others are refused") {
    const ts::graph network = ts::describe<blocks>(32);
    const ts::graph_view g = network.view();
    const ts::cluster on(ts::machines::p100_nodes(1));
    search::search_options o;
    o.values.set("stages", 2);
    const ts::strategy two = search::run(search::pipeline_record, g, on, o).best;
    CHECK(two.schedule.stages == 2);
    CHECK(two.micro_batches == 4);
    o.values.set("stages", 3);
    CHECK_THROWS_WITH_AS(search::run(search::pipeline_record, g, on, o),
                         "3 stages do not divide 4 devices; give --stages", ts::error);
    o.values.set("stages", 2.5);
    CHECK_THROWS_WITH_AS(search::run(search::pipeline_record, g, on, o),
                         "the search 'pipeline' is refused: stages is 2.5; give a whole number from 0 to 16384",
                         ts::error);
    CHECK_THROWS_WITH_AS(search::run(search::mcmc_record, g, on, o),
                         "the search 'mcmc' has no option 'stages'; it has proposals, seed, byte-price", ts::error);
    std::int64_t most = 0;
    const auto note = [&](const search::search_progress& p) { most = std::max(most, p.made); };
    search::search_options quick;
    quick.report = note;
    quick.values.set("simulations", 3);
    search::run(search::fit_record, g, on, quick);
    const std::int64_t simulated = most;
    quick.values.set("simulations", 6);
    search::run(search::fit_record, g, on, quick);
    CHECK(most > simulated);
    most = 0;
    quick.values = {};
    quick.values.set("proposals", 10);
    search::run(search::mcmc_record, g, on, quick);
    const std::int64_t proposed = most;
    quick.values.set("proposals", 40);
    search::run(search::mcmc_record, g, on, quick);
    CHECK(most > 2 * proposed);
    search::search_options own;
    own.values.set("faithful", 1);
    CHECK(search::run(search::optcnn_record<>, g, on, own).text.find("returned: OptCNN\n") != std::string::npos);
    search::search_options alone;
    alone.values.set("largest-tensor", 1);
    CHECK(search::run(search::grid_record, g, on, alone).text.find(" x tensor 1 x ") != std::string::npos);
    search::search_options few;
    few.values.set("most-strategies", 10);
    CHECK_THROWS_WITH_AS(search::run(search::exhaustive_record, g, on, few),
                         doctest::Contains("more than 10; use another"), ts::error);
    search::search_options scheduled;
    scheduled.schedule = &schedule::gpipe_record;
    CHECK_THROWS_WITH_AS(search::run(search::data_parallel_record, g, on, scheduled),
                         "the search 'data' makes no pipeline that could follow the schedule 'gpipe'; search with "
                         "pipeline or fit",
                         ts::error);
    search::search_options again;
    again.micro_batches = 2;
    again.recompute = true;
    const ts::strategy whole = search::run(search::data_parallel_record, g, on, again).best;
    CHECK(whole.micro_batches == 2);
    CHECK(whole.ops[0].recompute);
}

TEST_CASE("every schedule, followed by its name, gives what has a sound plan and comes back from a file") {
    const ts::graph network = ts::describe<blocks>(32);
    const ts::graph_view g = network.view();
    const ts::cluster on(ts::machines::p100_nodes(1));
    for (const schedule::schedule_record* r : schedule::library_schedules) {
        for (const bool recompute : {false, true}) {
            CAPTURE(std::string(r->name));
            search::search_options o;
            o.schedule = r;
            o.recompute = recompute;
            o.values.set("stages", 2);
            for (const ts::option_row& row : r->options) {
                if (!row.name.empty()) {
                    o.values.set(row.name, 2);
                }
            }
            o.micro_batches = 4;
            const ts::strategy s = search::run(search::pipeline_record, g, on, o).best;
            schedule::settings x{r, 2, 4, options_of(*r, o.values)};
            x.again = !recompute              ? schedule::rematerialize::none
                      : r->last_returns_first ? schedule::rematerialize::except_last
                                              : schedule::rematerialize::all;
            CHECK(s.schedule == schedule::make(x));
            check_strategy(g, s, on.devices(), ts::sgd{});
            for (const ts::option_row& row : r->options) { // each of them changes something
                if (!row.name.empty()) {
                    o.values.set(row.name, 1);
                }
            }
            const bool has_none = r->options[0].name.empty();
            CHECK((search::run(search::pipeline_record, g, on, o).best.schedule == s.schedule) == has_none);
        }
    }
}

TEST_CASE("every policy, asked for by its name, gives what has a sound plan and comes back from a file") {
    const ts::graph network = ts::describe<blocks>(32);
    const ts::graph_view g = network.view();
    const ts::cluster on(ts::machines::p100_nodes(1));
    std::set<std::uint64_t> different;
    for (const schedule::policy_record* r : schedule::library_policies) {
        CAPTURE(std::string(r->name));
        search::search_options o;
        o.policy = r;
        const ts::strategy usual = search::run(search::data_parallel_record, g, on, o).best;
        CHECK(!usual.sync.is_usual());
        check_strategy(g, usual, on.devices(), ts::sgd{});
        for (const ts::option_row& row : r->options) { // each of them changes something
            search::search_options other = o;
            if (row.name.empty()) {
                continue;
            }
            CAPTURE(std::string(row.name));
            if (row.name == schedule::credit_option.name) {
                other.values.set("partition", 50);
            }
            if (row.name == schedule::fusion_cycle_option.name) {
                other.values.set("fusion-bytes", 1e9);
            }
            if (row.name == schedule::bucket_option.name) {
                other.values.set("first-bucket-bytes", 100);
            }
            const ts::strategy before = search::run(search::data_parallel_record, g, on, other).best;
            other.values.set(row.name, 3);
            const ts::strategy s = search::run(search::data_parallel_record, g, on, other).best;
            CHECK(!(s.sync == before.sync));
            check_strategy(g, s, on.devices(), ts::sgd{});
        }
        different.insert(ts::hash_of_fields(usual.sync));
    }
    CHECK(different.size() >= 9);
}
