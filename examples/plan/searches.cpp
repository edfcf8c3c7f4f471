// SPDX-License-Identifier: Apache-2.0
// How the planner runs the searches, schedules and policies of the library's lists (lists.cpp shows them).
#include "examples/plan/plan.hpp"

#include <tessera/execute/local/search_threads.hpp>
#include <tessera/io/exchange/coarse_search_file.hpp>
#include <tessera/io/reports/progress.hpp>
#include <tessera/io/reports/waiting.hpp>
#include <tessera/schedule/policies.hpp>
#include <tessera/schedule/schedules.hpp>
#include <tessera/search/searches.hpp>

#include <algorithm>
#include <cstdio>
#include <optional>

namespace planner {

namespace {

constexpr const char* advice = "--list names them";

const ts::search::search_record& search_of(const std::string& name) { return ts::search::search_named(name, advice); }
const ts::schedule::schedule_record* schedule_of(const request& r) {
    return r.schedule.empty() ? nullptr : &ts::schedule::schedule_named(r.schedule, advice);
}
const ts::schedule::policy_record* policy_of(const request& r) {
    return r.policy.empty() ? nullptr : &ts::schedule::policy_named(r.policy, advice);
}

/// The row of an option where one of those that are asked for has it.
const ts::option_row* row_of(const std::string& option, const std::string& search, const request& r) {
    const ts::option_row* row = search.empty() ? nullptr : ts::find_option(search_of(search), option);
    if (const auto* schedule = schedule_of(r); row == nullptr && schedule != nullptr) {
        row = ts::find_option(*schedule, option);
    }
    if (const auto* policy = policy_of(r); row == nullptr && policy != nullptr) {
        row = ts::find_option(*policy, option);
    }
    return row;
}

ts::search::search_options options_of(const problem& p, const std::string& name, const request& r) {
    ts::search::search_options how;
    how.lowering.update = p.update;
    how.schedule = search_of(name).takes_all ? schedule_of(r) : nullptr;
    how.policy = policy_of(r);
    how.micro_batches = r.micro_batches;
    how.recompute = r.recompute == "stages";
    how.recompute_to_fit = r.recompute == "fit";
    how.offload_to_fit = !r.offload.empty();
    how.offloads = r.offload.empty() ? how.offloads : ts::search::offload_of_text(r.offload);
    if (!r.recompute.empty() && !how.recompute && !how.recompute_to_fit) {
        how.recomputed = ts::search::recompute_rule_of(r.recompute);
    }
    how.threads = ts::search_threads();
    for (const auto& [option, value] : r.given) {
        const ts::option_row* row = row_of(option, name, r);
        if (row != nullptr && (how.schedule != nullptr || schedule_of(r) == nullptr ||
                               ts::find_option(*schedule_of(r), option) == nullptr)) {
            how.values.set(row->name, value);
        }
    }
    return how;
}

} // namespace

void require_search(const std::string& name) { (void)search_of(name); }
bool can_go_on(const std::string& name) { return search_of(name).resumes; }
std::string those_that_go_on() {
    std::string names;
    for (const ts::search::search_record* r : ts::search::library_searches) {
        names += r->resumes ? (names.empty() ? "" : " or ") + std::string(r->name) : "";
    }
    return names;
}

std::string unused_option(const request& r, const std::vector<std::string>& searches) {
    for (const auto& [option, value] : r.given) {
        bool used = false;
        for (const std::string& name : searches) {
            used = used || row_of(option, name, r) != nullptr;
        }
        if (!used && row_of(option, {}, r) == nullptr) {
            return option;
        }
    }
    return {};
}

void require_schedule(const request& r, const std::vector<std::string>& searches) {
    if (policy_of(r) != nullptr && searches.empty()) {
        throw ts::error("no search is asked for whose strategy could follow the policy '" + r.policy +
                        "'; a strategy file says its own");
    }
    if ((r.micro_batches > 0 || !r.recompute.empty() || !r.offload.empty()) && searches.empty()) {
        throw ts::error("no search is asked for whose strategy could take " +
                        std::string(r.micro_batches > 0    ? "micro-batches"
                                    : !r.recompute.empty() ? "recomputation"
                                                           : "what waits in the host's memory") +
                        "; a strategy file says its own");
    }
    const auto* schedule = schedule_of(r);
    const bool follows = std::any_of(searches.begin(), searches.end(),
                                     [](const std::string& name) { return search_of(name).takes_all; });
    if (schedule != nullptr && !follows) {
        throw ts::error("no search that is asked for makes a pipeline that could follow the schedule '" + r.schedule +
                        "'; give --search pipeline or fit");
    }
}

ts::search::search_found run_search(const problem& p, const std::string& name, const request& r, const follower& by) {
    const ts::search::search_record& search = search_of(name);
    ts::search::search_options how = options_of(p, name, r);
    if (!search.unit.empty()) {
        how.interrupted = by.interrupted;
        how.report = by.report;
    }
    std::optional<ts::io::file_journal> journal;
    if (!r.resume.empty() && search.resumes) {
        how.journal = &journal.emplace(r.resume);
    }
    return ts::search::run(search, p.network, p.on, how);
}

ts::search::search_found find_strategy(const problem& p, const std::string& name, const request& r) {
    const ts::search::search_record& search = search_of(name);
    const bool shows = !search.unit.empty();
    ts::io::progress_options line;
    line.unit = search.unit;
    std::optional<ts::io::progress_bar> bar;
    std::optional<ts::io::waiting> sign;
    std::optional<interruptible> while_searching;
    const auto report = [&](const ts::search::search_progress& now) {
        if (!bar) {
            bar.emplace(std::string(search.title), now.budget, line);
        }
        bar->advance(now.made - bar->done(), now.best_cost < 0 ? ""
                                             : now.best_cost == INT64_MAX
                                                 ? "nothing fits yet"
                                                 : "best " + std::to_string(now.best_cost / 1000) + " us");
    };
    if (shows) {
        while_searching.emplace();
    } else {
        sign.emplace(std::string(search.title));
    }
    if (shows && !search.fixed_budget) {
        bar.emplace(std::string(search.title), 0, line);
    }
    ts::search::search_found found = run_search(p, name, r, {report, &interruptible::flag()});
    if (bar) {
        bar->clear();
    }
    sign.reset();
    std::fputs(found.text.c_str(), stdout);
    return found;
}

} // namespace planner
