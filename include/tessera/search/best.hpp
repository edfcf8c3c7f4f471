// SPDX-License-Identifier: Apache-2.0
// Which search when: those that suit a network's size, the machine and the time that there is, one after the other, and
// the fastest of what they find by simulation, with its bound.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/number_text.hpp"
#include "tessera/search/certified/bound.hpp"
#include "tessera/search/searches.hpp"

#include <chrono>
#include <cstdio>
#include <vector>

namespace tessera::search {

struct best_options {
    /// No further search is begun after so many seconds, and those that can be interrupted end then; what is found
    /// depends on the machine's speed.
    double seconds = 60;
    bool pipelines = true; ///< also strategies with stages, micro-batches and policies
    lower_options lowering{};
    thread_pool threads{};
    bool bound = true;                              ///< of the result
    function_ref<void(std::string_view)> begins{};  ///< called with each search's name before it begins
    const std::atomic<bool>* interrupted = nullptr; ///< set: it ends with the best so far; null: nobody can
};

/// One search of several.
struct searched {
    std::string_view name;
    std::string refused{}; ///< why it found nothing; else empty
    strategy value{};
    finished_step step{};
    double seconds = 0;
};

struct best_result {
    std::vector<searched> all; ///< in the order in which they ran
    std::size_t chosen = 0;    ///< the fastest by simulation of those that fit, or of all where none fits
    strategy_bound bound{};    ///< of the chosen one

    const strategy& best() const { return all[chosen].value; }
};

/// The searches that suit, in the order in which they run: what takes moments first, so that there is always an answer.
///
/// - on one device there is nothing to search;
/// - strategies designed by hand;
/// - the certified optimum under the additive model, and Tofu, up to 64 devices; beyond, where tables of a device graph
///   take minutes, OptCNN with one choice for all operators of a kind;
/// - the exhaustive search for at most 8 operators on at most 4 devices;
/// - fit, which knows pipelines and policies, up to 64 devices; beyond, the grid search for repeated blocks;
/// - MCMC last, for as long as there is time, where operators times devices are at most 64,000.
inline std::vector<const search_record*> suited_searches(const graph_view& g, const cluster& on,
                                                         const best_options& o) {
    std::vector<const search_record*> all;
    const int devices = on.devices();
    for (const search_record* r : designed_strategies) {
        if (r->is_baseline && applies(*r, g, on)) {
            all.push_back(r);
        }
    }
    if (devices == 1) {
        return all;
    }
    const bool few = devices <= most_priced_devices;
    all.push_back(few ? static_cast<const search_record*>(&optimum_record)
                      : static_cast<const search_record*>(&grouped_optcnn_record<>));
    if (few) {
        all.push_back(&tofu_record);
    }
    if (g.op_count <= 8 && devices <= 4) {
        all.push_back(&exhaustive_record);
    }
    if (o.pipelines) {
        all.push_back(few ? static_cast<const search_record*>(&fit_record)
                          : static_cast<const search_record*>(&grid_record));
    }
    if (static_cast<std::int64_t>(g.op_count) * devices <= 64'000) {
        all.push_back(&mcmc_record);
    }
    return all;
}

namespace detail {

inline bool is_better(const searched& a, const searched& b) {
    if (a.refused.empty() != b.refused.empty()) {
        return a.refused.empty();
    }
    if (a.step.fits != b.step.fits) {
        return a.step.fits;
    }
    return a.step.makespan * b.value.period < b.step.makespan * a.value.period;
}

} // namespace detail

/// The fastest strategy by simulation that the suited searches find in the time that there is, with its bound under the
/// additive model. Throws tessera::error where no search finds anything.
inline best_result best(const graph_view& g, const cluster& on, const best_options& o = {}) {
    using clock = std::chrono::steady_clock;
    const clock::time_point start = clock::now();
    const auto passed = [&] { return std::chrono::duration<double>(clock::now() - start).count(); };
    const auto stopped = [&] { return o.interrupted != nullptr && o.interrupted->load(); };
    best_result r;
    for (const search_record* record : suited_searches(g, on, o)) {
        const bool designed = record->is_baseline; // takes no time
        if (stopped() || (!designed && passed() > o.seconds && !r.all.empty())) {
            break;
        }
        if (o.begins) {
            o.begins(record->name);
        }
        searched s{record->name};
        const double before = passed();
        std::atomic<bool> late{false};
        search_options how;
        how.lowering = o.lowering;
        how.threads = o.threads;
        how.interrupted = &late;
        const auto look = [&](const search_progress&) {
            if (stopped() || passed() > o.seconds) {
                late.store(true);
            }
        };
        how.report = look;
        if (record == &mcmc_record) { // more than there is time for: it is interrupted
            how.values.set("proposals", 100'000);
        }
        try {
            s.value = run(*record, g, on, how).best;
            s.step = simulate_finished(g, on, s.value, {}, o.lowering);
        } catch (const error& e) {
            s.refused = e.what();
        }
        s.seconds = passed() - before;
        r.all.push_back(std::move(s));
        if (detail::is_better(r.all.back(), r.all[r.chosen])) {
            r.chosen = r.all.size() - 1;
        }
    }
    if (r.all.empty() || !r.all[r.chosen].refused.empty()) {
        throw error("best: no search found a strategy" +
                    (r.all.empty() ? std::string() : "; " + std::string(r.all[0].name) + ": " + r.all[0].refused));
    }
    if (o.bound) {
        bound_options bounded;
        bounded.states = o.lowering.update.state_count();
        r.bound = bound_of(g, on, r.best(), bounded);
    }
    return r;
}

/// A line for each search, the chosen one marked, and its bound.
inline std::string to_text(const best_result& r) {
    std::string text;
    for (std::size_t i = 0; i < r.all.size(); ++i) {
        const searched& s = r.all[i];
        char line[160];
        print_to(line, sizeof line, "%s %-18s %12.3f ms a step, found in %.2f s%s\n", i == r.chosen ? ">" : " ",
                 std::string(s.name).c_str(),
                 static_cast<double>(s.step.makespan) * 1e-6 / static_cast<double>(s.value.period), s.seconds,
                 s.step.fits ? "" : ", which does not fit");
        text += s.refused.empty() ? std::string(line) : "  " + std::string(s.name) + ": " + s.refused + "\n";
    }
    return text + to_text(r.bound) + "\n";
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
