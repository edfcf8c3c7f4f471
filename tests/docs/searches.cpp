// SPDX-License-Identifier: Apache-2.0
// One list of searches, one of schedules, one of policies: docs/searches.md is made of them, the planner shows them,
// refine(), fit(), MCMC, the comparison with baselines and the benchmarks take theirs from them, and no record of the
// library's sources is missing in them.
#include "docs/page.hpp"
#include "examples/plan/lists.cpp" // what the planner lists
#include "support/every_schedule.hpp"
#include "support/high_water.hpp"
#include "support/policies.hpp"

#include "tessera/backend/reference/backend.hpp"
#include "tessera/execute/measure/refine.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/compared.hpp"
#include "tessera/search/fit/fit.hpp"

#include <set>

namespace {

namespace ts = tessera;
namespace search = ts::search;
namespace schedule = ts::schedule;
using names = std::multiset<std::string>;

struct fc1 : ts::linear<24> {};
struct fc2 : ts::linear<8> {};
struct network : ts::sequential<ts::features<24>, fc1, ts::relu, fc2, ts::cross_entropy> {};

/// What `of` says of every record that `takes` holds for.
template <class Records, class Of, class Takes>
names said(const Records& all, const Of& of, const Takes& takes) {
    names found;
    for (const auto* r : all) {
        if (takes(*r)) {
            found.insert(std::string(of(*r)));
        }
    }
    return found;
}
constexpr auto name_of = [](const auto& r) { return r.name; };
constexpr auto title_of = [](const auto& r) { return r.title; };
constexpr auto any = [](const auto&) { return true; };

/// The names that the definitions of records of a kind have in the library's sources.
names defined(const std::string& kind) {
    names found;
    for (const auto& path : test::files_below("include/tessera", {".hpp"})) {
        const std::string text = test::read_text(path);
        const std::string begin = "inline constexpr " + kind + " ";
        for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at + 1)) {
            const std::string key = ".name = \"";
            const std::size_t first = text.find(key, at) + key.size();
            if (text.find('{', at) < text.find(';', at)) {
                found.insert(text.substr(first, text.find('"', first) - first));
            }
        }
    }
    return found;
}

names names_of(const std::vector<planner::listed>& all) {
    names found;
    for (const planner::listed& x : all) {
        found.insert(x.name);
    }
    return found;
}

std::string number(double x) {
    char text[40];
    std::snprintf(text, sizeof text, "%.15g", x);
    return text;
}

template <class Record>
std::string options_of(const Record& r) {
    std::string text;
    for (const ts::option_row& o : r.options) {
        if (!o.name.empty()) {
            text += (text.empty() ? "`" : "; `") + std::string(o.name) + "`: " + std::string(o.about) + " (" +
                    number(o.usual) + "; " + number(o.least) + " to " + number(o.most) + ")";
        }
    }
    return text;
}

std::string uses_of(const search::search_record& r) {
    std::string text;
    const auto add = [&](bool is, const char* what) {
        text += is ? (text.empty() ? "" : ", ") + std::string(what) : "";
    };
    add(r.is_start, "start of MCMC");
    add(r.is_baseline, "baseline");
    add(r.is_measured, "measured by `refine`");
    return text;
}

std::string line(const std::vector<std::string>& cells) {
    std::string text = "|";
    for (const std::string& c : cells) {
        text += c.empty() ? " |" : " " + c + " |";
    }
    return text + "\n";
}

std::string quoted(std::string_view name) { return "`" + std::string(name) + "`"; }

std::string page() {
    std::string text = R"(# Searches, schedules and policies

This page is made by [tests/docs/searches.cpp](../tests/docs/searches.cpp) from the library's lists;
`TESSERA_UPDATE_GOLDENS=1` writes it anew. By name they are chosen on the command line of the [planner](planner.md) and
in a program: `ts::search::search_named("mcmc")`, `ts::schedule::schedule_named("gpipe")`,
`ts::schedule::policy_named("p3")`. After an option: what it is unless it is given; what it may be.

## Searches

The list is [searches.hpp](../include/tessera/search/searches.hpp); how to add one: [a search](adding_a_search.md).

| name | what it does | options | is |
|---|---|---|---|
)";
    for (const search::search_record* r : search::library_searches) {
        text += line({quoted(r->name), std::string(r->about), options_of(*r), uses_of(*r)});
    }
    text += R"(
## Schedules

The list is [schedules.hpp](../include/tessera/schedule/schedules.hpp), all of which `fit` tries; how to add one:
[a schedule](adding_a_schedule.md).

| name | what it does | options |
|---|---|---|
)";
    for (const schedule::schedule_record* r : schedule::library_schedules) {
        text += line({quoted(r->name), std::string(r->about), options_of(*r)});
    }
    text += R"(
## Synchronization policies

The list is [policies.hpp](../include/tessera/schedule/policies.hpp); `fit` tries those that give the numbers of one
device; how to add one: [a policy](adding_a_policy.md).

| name | what it does | options | numbers of one device |
|---|---|---|---|
)";
    for (const schedule::policy_record* r : schedule::library_policies) {
        text += line({quoted(r->name), std::string(r->about), options_of(*r), r->same_numbers ? "yes" : "no"});
    }
    return text;
}

} // namespace

TEST_CASE("docs/searches.md has the library's searches, schedules and policies") {
    test::hold_page("searches.md", page());
}

TEST_CASE("every record of the library's sources is in its list, and the planner shows the lists") {
    CHECK(defined("search_record") == said(search::library_searches, name_of, any));
    CHECK(defined("schedule_record") == said(schedule::library_schedules, name_of, any));
    CHECK(defined("policy_record") == said(schedule::library_policies, name_of, any));
    CHECK(names_of(planner::listed_searches()) == said(search::library_searches, name_of, any));
    CHECK(names_of(planner::listed_schedules()) == said(schedule::library_schedules, name_of, any));
    CHECK(names_of(planner::listed_policies()) == said(schedule::library_policies, name_of, any));
}

TEST_CASE("refine(), MCMC and the comparison with baselines take what the list of searches says") {
    const auto measured = [](const search::search_record& r) { return r.is_measured; };
    CHECK(said(ts::refine_options{}.tried, name_of, any) == said(search::library_searches, name_of, measured));
    const ts::graph network_value = ts::describe<network>(48);
    const ts::graph_view g = network_value.view();
    const ts::cluster on(ts::machines::p100_nodes(2, 2));
    names starts;
    for (const search::named_strategy& s : search::hand_designed(g, on)) {
        starts.insert(s.name);
    }
    CHECK(starts == said(search::library_searches, title_of,
                         [&](const search::search_record& r) { return r.is_start && applies(r, g, on); }));
    for (const search::search_record* r : search::library_searches) { // those that are the same strategy are one
        if (r->is_baseline && applies(*r, g, on)) {
            const ts::strategy own = search::run(*r, g, on).best;
            bool there = false;
            for (const search::compared_strategy& x :
                 search::compare_with_baselines(g, on, "one device", search::single_device(g)).all) {
                there = there || x.value == own;
            }
            CAPTURE(std::string(r->name));
            CHECK(there);
        }
    }
}

TEST_CASE("fit(), the benchmarks and the tests of all schedules and policies take the lists") {
    const auto same = [](const schedule::policy_record& r) { return r.same_numbers; };
    CHECK(said(search::fit_options{}.schedules, name_of, any) == said(schedule::library_schedules, name_of, any));
    CHECK(said(search::fit_options{}.policies, name_of, any) == said(schedule::library_policies, name_of, same));
    const ts::graph network_value = ts::describe<network>(48);
    names policies;
    for (const auto& x : test_support::small_policies(network_value.view(), 2)) {
        policies.insert(x.first);
    }
    CHECK(policies == said(schedule::library_policies, title_of, same));
    std::set<const schedule::schedule_record*> swept;
    for (const test_support::named_schedule& x : test_support::every_schedule()) {
        swept.insert(x.how.which);
    }
    std::set<std::string> high;
    for (const test_support::scheduled& x : test_support::all_schedules(4, 8)) {
        high.insert(x.name);
    }
    for (const schedule::schedule_record* r : schedule::library_schedules) {
        CAPTURE(std::string(r->name));
        CHECK(swept.count(r) == 1);
        CHECK(high.count(std::string(r->title)) == 1);
    }
}
