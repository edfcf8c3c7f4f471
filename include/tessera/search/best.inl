// SPDX-License-Identifier: Apache-2.0
// Bodies of best.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/best.hpp"

namespace tessera::search {

TESSERA_INLINE std::vector<const search_record*> suited_searches(const graph_view& g, const cluster& on,
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

} // namespace tessera::search

namespace tessera::search::detail {

TESSERA_INLINE bool is_better(const searched& a, const searched& b) {
    if (a.refused.empty() != b.refused.empty()) {
        return a.refused.empty();
    }
    if (a.step.fits != b.step.fits) {
        return a.step.fits;
    }
    return a.step.makespan * b.value.steps_per_plan < b.step.makespan * a.value.steps_per_plan;
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE best_result best(const graph_view& g, const cluster& on, const best_options& o) {
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

TESSERA_INLINE std::string to_text(const best_result& r) {
    std::string text;
    for (std::size_t i = 0; i < r.all.size(); ++i) {
        const searched& s = r.all[i];
        char line[160];
        print_to(line, sizeof line, "%s %-18s %12.3f ms a step, found in %.2f s%s\n", i == r.chosen ? ">" : " ",
                 std::string(s.name).c_str(),
                 static_cast<double>(s.step.makespan) * 1e-6 / static_cast<double>(s.value.steps_per_plan), s.seconds,
                 s.step.fits ? "" : ", which does not fit");
        text += s.refused.empty() ? std::string(line) : "  " + std::string(s.name) + ": " + s.refused + "\n";
    }
    return text + to_text(r.bound) + "\n";
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
