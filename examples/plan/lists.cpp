// SPDX-License-Identifier: Apache-2.0
// The searches, schedules and policies that the planner knows: those of the library's lists, with their options.
#include "examples/plan/plan.hpp"

#include <tessera/schedule/policies.hpp>
#include <tessera/schedule/schedules.hpp>
#include <tessera/search/searches.hpp>

#include <range/v3/range/conversion.hpp>
#include <range/v3/view/transform.hpp>

#include <algorithm>

namespace planner {

namespace {

/// Calls use(record, kind) for all that has options.
template <class Use>
void each_record(const Use& use) {
    for (const ts::search::search_record* r : ts::search::library_searches) {
        use(*r, "search");
    }
    for (const ts::schedule::schedule_record* r : ts::schedule::library_schedules) {
        use(*r, "schedule");
    }
    for (const ts::schedule::policy_record* r : ts::schedule::library_policies) {
        use(*r, "policy");
    }
}

template <class Records>
std::vector<listed> listed_in(const Records& all) {
    const auto line = [](const auto* r) { return listed{std::string(r->name), std::string(r->about)}; };
    return all | ranges::views::transform(line) | ranges::to<std::vector>();
}

} // namespace

std::vector<listed> listed_searches() { return listed_in(ts::search::library_searches); }
std::vector<listed> listed_schedules() { return listed_in(ts::schedule::library_schedules); }
std::vector<listed> listed_policies() { return listed_in(ts::schedule::library_policies); }

std::vector<known_option> known_options() {
    std::vector<known_option> all;
    each_record([&](const auto& record, const char*) {
        for (const ts::option_row& row : record.options) {
            const auto same = [&](const known_option& o) { return o.row.name == row.name; };
            const auto known = std::find_if(all.begin(), all.end(), same);
            if (row.name.empty()) {
                continue;
            }
            if (known == all.end()) {
                all.push_back({row, true});
            } else {
                known->one_usual = known->one_usual && known->row.usual == row.usual;
            }
        }
    });
    return all;
}

std::string owners_of(const std::string& option) {
    std::string names;
    each_record([&](const auto& record, const char* kind) {
        if (ts::find_option(record, option) != nullptr) {
            names += (names.empty() ? "the " : " and the ") + std::string(kind) + " " + std::string(record.name);
        }
    });
    return names;
}

} // namespace planner
