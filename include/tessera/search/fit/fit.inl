// SPDX-License-Identifier: Apache-2.0
// Bodies of fit.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/fit/fit.hpp"

#include <utility>

namespace tessera::search::detail {

TESSERA_INLINE fit_search::fit_search(const graph_view& g, const cluster& on, const fit_options& o)
    : g_(g), on_(on), o_(o), estimate_(g, on, o) {
    for (int d = 0; d < on.devices(); ++d) {
        const index_t own = on.class_of(d).memory_bytes;
        limits_.push_back(o.memory > 0 && (own == 0 || o.memory < own) ? o.memory : own);
        least_limit_ =
            limits_.back() > 0 && (least_limit_ == 0 || limits_.back() < least_limit_) ? limits_.back() : least_limit_;
        waits_ = waits_ || on.class_of(d).serial_copies;
    }
}

TESSERA_INLINE fit_result fit_search::run() {
    simulate_baselines();
    simulate_best(fit_candidates(g_, on_, least_limit_, waits_, o_, estimate_, [this] { return may_go_on(); }));
    refine(static_cast<int>(rows_.size()) + o_.refinements);
    return conclude();
}

TESSERA_INLINE bool fit_search::may_go_on() {
    ended_ = ended_ || (!rows_.empty() && o_.go_on != nullptr &&
                        !o_.go_on(o_.context, static_cast<int>(rows_.size()), o_.simulations + o_.refinements));
    return !ended_;
}

TESSERA_INLINE void fit_search::simulate_choice(const fit_choice& x, const fit_guess& guess) {
    for (const fit_row& r : rows_) {
        if (r.how == x) {
            return;
        }
    }
    if (!may_go_on()) {
        return;
    }
    fit_row row{x, guess, 0, {}, 0, false, {}};
    try {
        plan p = planned(x);
        simulation::task_times times;
        times.measured = o_.measured;
        times.reached = o_.reached;
        const simulation::timeline t = simulation::simulate(g_, p, on_, times);
        row.step = t.makespan / o_.steps_per_plan;
        row.peak_bytes = t.peak_bytes;
        row.fits = true;
        for (std::size_t d = 0; d < row.peak_bytes.size(); ++d) {
            row.most_bytes = std::max(row.most_bytes, row.peak_bytes[d]);
            row.fits = row.fits && (limits_[d] == 0 || row.peak_bytes[d] <= limits_[d]);
        }
    } catch (const error& e) {
        row.refused = e.what();
    }
    rows_.push_back(std::move(row));
}

TESSERA_INLINE plan fit_search::lowered(const fit_choice& x) {
    const strategy s = made(x);
    require(g_, s.view(), on_.devices());
    return bound_plan(g_, s, on_.devices(), o_.lowering);
}

TESSERA_INLINE plan fit_search::planned(const fit_choice& x) {
    plan p = lowered(x);
    waits_ ? complete(p) : plan_memory(p);
    return p;
}

TESSERA_INLINE strategy fit_search::made(const fit_choice& x) {
    return strategy_of(g_, x, o_, estimate_.action_times_of(x)[0], estimate_.speed());
}

TESSERA_INLINE void fit_search::simulate_baselines() {
    simulate_plain(on_.devices(), baseline::data_parallel);
    for (const baseline inside : o_.inside) {
        simulate_plain(on_.devices(), inside);
    }
    simulate_plain(1, baseline::data_parallel);
}

TESSERA_INLINE void fit_search::simulate_plain(int width, baseline inside) {
    fit_choice x;
    x.order.which = &schedule::fill_drain_record;
    x.order.micro_batches = *std::min_element(o_.micro_batches.begin(), o_.micro_batches.end());
    x.widths = {width};
    x.inside = {inside};
    x.stage.assign(to_size(g_.op_count), 0);
    simulate_choice(x, estimate_(x));
}

TESSERA_INLINE bool fit_search::something_fits() const {
    for (const fit_row& r : rows_) {
        if (r.fits) {
            return true;
        }
    }
    return false;
}

TESSERA_INLINE void fit_search::simulate_best(const fit_candidates& from) {
    const int budget = o_.simulations;
    const int count = static_cast<int>(from.all.size());
    considered_ += count;
    std::vector<char> taken(from.all.size(), 0);
    const auto take = [&](std::size_t i) {
        if (taken[i]++ == 0) {
            simulate_choice(from.choice(i), from.all[i].guess);
        }
    };
    std::vector<std::pair<const schedule::schedule_record*, schedule::rematerialize>> kinds;
    for (const std::size_t i : from.by_time) {
        const schedule::settings& order = from.bases[from.all[i].base].order;
        const std::pair kind{order.which, order.again};
        if (static_cast<int>(rows_.size()) < budget / 2 && std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) {
            kinds.push_back(kind);
            take(i);
        }
    }
    int next = 0;
    int doubtful = from.seems_to_fit; // of those that seem not to fit some do
    int lean = 0;
    while (static_cast<int>(rows_.size()) < budget && next < count && !ended_) {
        const int made = static_cast<int>(rows_.size());
        const bool starved = made >= budget / 2 && !something_fits();
        if (starved && lean < count) {
            take(from.by_memory[to_size(lean++)]);
        } else if (made % 4 == 3 && doubtful < count) {
            take(from.by_time[to_size(doubtful++)]);
        } else {
            take(from.by_time[to_size(next++)]);
        }
    }
}

TESSERA_INLINE void fit_search::refine(int budget) {
    while (static_cast<int>(rows_.size()) < budget) {
        const fit_row from = rows_[best()];
        std::vector<fit_candidate> near;
        for (fit_choice& x : neighbours_of(g_, from.how, o_, waits_)) {
            const fit_guess guess = estimate_(x);
            ++considered_;
            near.push_back({std::move(x), guess});
        }
        std::sort(near.begin(), near.end(), [&](const fit_candidate& a, const fit_candidate& b) {
            return from.fits ? a.guess.step < b.guess.step : a.guess.bytes < b.guess.bytes;
        });
        for (std::size_t i = 0; i < near.size() && static_cast<int>(rows_.size()) < budget; ++i) {
            simulate_choice(near[i].how, near[i].guess);
            if (better(rows_.back(), from)) {
                break;
            }
        }
        if (!better(rows_[best()], from)) {
            return;
        }
    }
}

TESSERA_INLINE bool fit_search::better(const fit_row& a, const fit_row& b) {
    const auto key = [](const fit_row& r) {
        return std::pair{r.refused.empty() ? r.fits ? 0 : 1 : 2, r.fits ? r.step : r.most_bytes};
    };
    return key(a) < key(b);
}

TESSERA_INLINE std::size_t fit_search::best() const {
    std::size_t b = 0;
    for (std::size_t i = 1; i < rows_.size(); ++i) {
        b = better(rows_[i], rows_[b]) ? i : b;
    }
    return b;
}

TESSERA_INLINE fit_result fit_search::conclude() {
    fit_result r;
    r.considered = considered_;
    r.ended = ended_;
    r.simulated = static_cast<int>(rows_.size());
    std::sort(rows_.begin(), rows_.end(), better);
    r.row = rows_.front();
    r.fits = r.row.fits;
    r.best = made(r.row.how);
    if (r.fits) { // what is handed out is verified as a whole
        plan p = lowered(r.row.how);
        finish(g_, p);
    }
    const fit_row* leanest = nullptr;
    for (const fit_row& row : rows_) {
        r.refused += row.refused.empty() ? 0 : 1;
        if (row.refused.empty() && (leanest == nullptr || row.most_bytes < leanest->most_bytes)) {
            leanest = &row;
        }
    }
    r.smallest_memory = leanest != nullptr ? leanest->most_bytes : 0;
    if (!r.fits) {
        r.reason = leanest == nullptr ? r.row.refused : lacking(r, *leanest);
    }
    r.rows = std::move(rows_);
    return r;
}

TESSERA_INLINE std::string fit_search::lacking(const fit_result& r, const fit_row& row) const {
    std::size_t d = 0; // where most is lacking
    for (std::size_t k = 1; k < limits_.size(); ++k) {
        d = limits_[k] > 0 && row.peak_bytes[k] - limits_[k] > row.peak_bytes[d] - limits_[d] ? k : d;
    }
    return "tessera: of " + std::to_string(r.considered) + " strategies none of the " + std::to_string(r.simulated) +
           " simulated ones fits: the one that needs least (" + to_text(g_, row.how) + ") needs " +
           std::to_string(row.peak_bytes[d]) + " bytes on device " + std::to_string(d) + ", which has " +
           std::to_string(limits_[d]) + "; with " + std::to_string(r.smallest_memory) +
           " bytes on each device it would fit; use more devices or a smaller batch";
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE fit_result fit(const graph_view& g, const cluster& on, const fit_options& o) {
    if (g.op_count < 1 || o.micro_batches.empty() || o.inside.empty() || o.again.empty() || o.simulations < 1 ||
        o.steps_per_plan < 1) {
        throw error("tessera: there is nothing to fit; give at least one operator, number of micro-batches, split, "
                    "re-materialization, step and simulation");
    }
    const bool whole = std::find(o.micro_batches.begin(), o.micro_batches.end(), 1) != o.micro_batches.end();
    if (const int joining = tessera::detail::first_joining_loss(g); joining >= 0 && !whole) {
        require(g, tessera::detail::broken(rule::loss_joins_micro_batches, joining, -1, o.micro_batches[0], 1));
    }
    for (const schedule::schedule_record* r : o.schedules) {
        if (r == nullptr || r->make == nullptr) {
            throw error("tessera: a schedule of fit() has no function; give records that have one");
        }
    }
    for (const schedule::policy_record* p : o.policies) {
        if (p == nullptr || p->name.empty() || p->make == nullptr) {
            throw error("tessera: a synchronization policy of fit() is called '" +
                        std::string(p == nullptr ? "" : p->name) + "' and has " +
                        (p == nullptr || p->make == nullptr ? "no" : "a") + " function; give a name and a function");
        }
    }
    return detail::fit_search(g, on, o).run();
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
