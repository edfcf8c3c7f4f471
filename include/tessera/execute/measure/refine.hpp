// SPDX-License-Identifier: Apache-2.0
// Never worse than the obvious (docs/architecture.md#laws): what a model of costs found is measured on the real devices
// against what everybody knows, and the fastest stays.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/clock.hpp"
#include "tessera/base/number_text.hpp"
#include "tessera/base/stable_sort.hpp"
#include "tessera/execute/local/devices.hpp"
#include "tessera/execute/measure/synthetic_batch.hpp"
#include "tessera/execute/session.hpp"
#include "tessera/machine/presets.hpp"
#include "tessera/search/mcmc/mcmc.hpp"
#include "tessera/search/quick_searches.hpp"
#include "tessera/search/run.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>

namespace tessera {

/// A template so that the searches that it tries are compiled where it is used, not wherever the header is included.
template <class Options>
struct refine_options_of {
    int turns = 5;              ///< of every strategy, in alternation
    double turn_seconds = 0.05; ///< a turn takes so long, and at least one step
    /// Tasks are measured by themselves, steps predicted from them, and MCMC searches on with these times, for backends
    /// that can (see measured_tasks.hpp); proposals for the search, 0 for none.
    bool predict = true;
    std::int64_t proposals = 2000;
    int searched = 2; ///< so many of what the search found are tried
    /// Whose strategies are tried beside the one that is given.
    std::vector<const search::search_record*> tried = search::measured_searches<Options>();
};
using refine_options = refine_options_of<search::search_options>;

/// What became of one strategy.
struct tried_strategy {
    std::string name{};
    int devices = 1;          ///< that it uses
    double milliseconds = -1; ///< median of its steps; -1 where it was refused
    double predicted = -1;    ///< milliseconds of a step by simulation, from measured tasks; -1 where that is not known
    index_t moved_bytes = 0;  ///< between devices in a step
    index_t memory_bytes = 0; ///< of the device that needs the most
    std::string refused{};    ///< why it could not run
};

/// The strategy that measured fastest, for as many devices as there were (it may use fewer), with what else was tried,
/// fastest first.
class refined_strategy {
public:
    refined_strategy(strategy best, int device_count, index_t samples, std::vector<tried_strategy> all);

    strategy_view view() const { return best_.view(); }

    int devices;
    index_t batch;
    std::vector<tried_strategy> tried;

private:
    strategy best_;
};

/// One line a strategy: its name, devices, step time measured and predicted, bytes that move, memory.
template <class Refined>
requires std::same_as<Refined, refined_strategy> std::string to_text(const Refined& r) {
    std::string text;
    for (const tried_strategy& t : r.tried) {
        char numbers[160];
        if (t.refused.empty()) {
            char predicted[40] = "";
            if (t.predicted >= 0) {
                print_to(predicted, sizeof predicted, "  %10.3f predicted", t.predicted);
            }
            print_to(numbers, sizeof numbers,
                     "%-18s %d device%s  %10.3f ms a step%s  %12lld bytes moved  %12lld bytes of memory\n",
                     t.name.c_str(), t.devices, t.devices == 1 ? " " : "s", t.milliseconds, predicted,
                     static_cast<long long>(t.moved_bytes), static_cast<long long>(t.memory_bytes));
            text += numbers;
        } else {
            text += t.name + ": refused: " + t.refused + "\n";
        }
    }
    return text;
}

// Templates here are so only that what they use is compiled where a choice is made, not wherever the header is
// included.

namespace detail {

template <class B, OperatorSet Set>
class strategy_race {
public:
    strategy_race(const graph_view& g, const local_devices& devices, const optimizer& update,
                  const session_options& training)
        : g_(g), devices_(devices), update_(update), training_(training),
          backend_(make_backend<B, Set>(update, training)), data_(g) {}

    /// Builds what a strategy needs. One that breaks a rule or does not fit in memory is kept with the reason.
    void enter(std::string name, const strategy& how) {
        const std::uint64_t hash = hash_of(how);
        for (const entry& e : entries_) {
            if (e.hash == hash && is_same(e.how, how)) {
                return; // under another name
            }
        }
        entries_.push_back({{.name = std::move(name)}, how, hash, {}, {}});
        entry& e = entries_.back();
        try {
            e.runs.reset(new session<B>(g_, how, devices_.count(), update_, training_, backend_, devices_.threads()));
            e.runs->set_learning_rate(0); // the numbers stay as they are, the work is the same
            const plan& p = e.runs->training_plan();
            e.result.moved_bytes = p.moved_bytes;
            e.result.devices = 0;
            for (std::size_t d = 0; d < p.arena_bytes.size(); ++d) {
                e.result.devices += p.order[d].empty() ? 0 : 1;
                e.result.memory_bytes = std::max(e.result.memory_bytes, p.arena_bytes[d] + p.persistent_bytes[d]);
            }
        } catch (const error& refusal) {
            if (group() != nullptr && group()->failed()) {
                throw;
            }
            e.result.refused = refusal.what();
        }
    }

    /// Predicts the steps of all that can run and, from the best of them, searches on with the times of their tasks.
    /// Nothing for a backend that cannot measure tasks.
    void predict(const refine_options& options) {
        if constexpr (measures_tasks<B>) {
            auto measured = measured_tasks_of(backend_, devices_);
            std::vector<search::named_strategy> starts;
            for (entry& e : entries_) {
                if (e.runs) {
                    e.result.predicted = measured.predict(e.runs->training_plan(), e.runs->planned_graph()) * 1e3;
                    starts.push_back({e.result.name, e.how});
                }
            }
            if (options.proposals <= 0 || starts.empty()) {
                return;
            }
            const cluster host(measured.machine());
            search::mcmc_options o;
            o.budget = options.proposals;
            o.lowering.update = update_;
            o.times = measured.times();
            o.proposals.memory_limit = false; // what does not fit is refused when it enters
            search::mcmc_chain chain(g_, host, starts[nearest(starts)].value, o);
            chain.run(options.proposals);
            const auto& found = chain.improvements();
            for (std::size_t i = found.size(), k = 0; i-- > 1 && k < to_size(options.searched); ++k) {
                const std::size_t before = entries_.size();
                enter(k == 0 ? "searched" : "searched before", found[i].value);
                if (entries_.size() > before && entries_.back().runs) {
                    entries_.back().result.predicted =
                        measured.predict(entries_.back().runs->training_plan(), entries_.back().runs->planned_graph()) *
                        1e3;
                }
            }
        } else {
            static_cast<void>(options);
        }
    }

    refined_strategy run(const refine_options& options) {
        for (int turn = -1; turn < options.turns; ++turn) { // the first turn only warms up
            for (entry& e : entries_) {
                double spent = 0;
                while (e.runs && (spent == 0 || (turn >= 0 && spent < options.turn_seconds))) {
                    const double begin = seconds_now();
                    e.runs->step(data_.inputs);
                    double took = seconds_now() - begin;
                    if (group() != nullptr) {
                        group()->agree_on_most({&took, 1}); // all decide alike
                    }
                    spent += took;
                    if (turn >= 0) {
                        e.steps.push_back(took * 1e3);
                    }
                }
            }
        }
        for (entry& e : entries_) {
            if (!e.steps.empty()) {
                std::sort(e.steps.begin(), e.steps.end());
                e.result.milliseconds = e.steps[e.steps.size() / 2];
            }
        }
        tessera::detail::stable_sort(entries_, [](const entry& a, const entry& b) {
            return a.result.milliseconds >= 0 &&
                   (b.result.milliseconds < 0 || a.result.milliseconds < b.result.milliseconds);
        });
        if (entries_.front().result.milliseconds < 0) {
            throw error("tessera: no strategy can run: " + entries_.front().result.refused);
        }
        std::vector<tried_strategy> all;
        for (const entry& e : entries_) {
            all.push_back(e.result);
        }
        return {entries_.front().how, devices_.count(), g_.tensors[0].extents[0], std::move(all)};
    }

private:
    process_group* group() const { return devices_.threads().group(); }
    /// The start that is predicted to be the fastest.
    std::size_t nearest(const std::vector<search::named_strategy>& starts) const {
        std::size_t best = 0;
        double least = -1;
        std::size_t k = 0;
        for (const entry& e : entries_) {
            if (e.runs && k < starts.size()) {
                if (least < 0 || e.result.predicted < least) {
                    least = e.result.predicted;
                    best = k;
                }
                ++k;
            }
        }
        return best;
    }

    struct entry {
        tried_strategy result;
        strategy how;
        std::uint64_t hash = 0;
        owned<session<B>> runs;
        std::vector<double> steps;
    };

    const graph_view& g_;
    local_devices devices_;
    optimizer update_;
    session_options training_;
    B backend_;
    synthetic_batch<graph_view> data_;
    std::vector<entry> entries_;
};

} // namespace detail

/// Measures `found` against what the searches of `how.tried` find for a host (data parallelism, one weird trick, model
/// parallelism, one device, OptCNN), data parallelism on fewer devices, and what MCMC finds from the best of these with
/// measured times of their tasks, in alternation, for the batch that `found` was made for, and gives the fastest.
/// Over ranks a step takes as long as on the slowest, so that all find the same; all call it.
/// `training.measure` also measures implementations. What cannot run is listed with the reason. Throws tessera::error
/// where `found` was made for another number of devices, or nothing can run.
template <class Net, class B = default_backend<Net>, PlannedStrategy S, class Options = search::search_options>
refined_strategy refine(const S& found, const local_devices& devices, const optimizer& update = sgd{},
                        const session_options& training = {}, const refine_options_of<Options>& options = {}) {
    if (static_cast<int>(found.devices) != devices.count()) {
        throw error("tessera: the strategy was made for " + std::to_string(static_cast<int>(found.devices)) +
                    " devices and there are " + std::to_string(devices.count()) +
                    "; plan for the devices that there are, or make as many as it wants");
    }
    const graph network = describe<Net>(static_cast<index_t>(found.batch));
    const graph_view g = network.view();
    detail::strategy_race<B, operators_of<Net>> race(g, devices, update, training);
    race.enter("found", strategy(strategy_view(found.view())));
    const cluster host(machines::this_host(devices.count()));
    for (const search::search_record* r : options.tried) {
        search::search_options o;
        o.lowering.update = update;
        if (find_option(*r, search::faithful_option.name) != nullptr) {
            o.values.set(search::faithful_option.name, 1); // the measurement compares
        }
        race.enter(std::string(r->title), search::run(*r, g, host, o).best);
    }
    for (int fewer = devices.count() / 2; fewer > 1; fewer /= 2) {
        race.enter("data parallel", search::data_parallel(g, fewer));
    }
    if (options.predict) {
        race.predict(options);
    }
    return race.run(options);
}

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/execute/measure/refine.inl"
#endif

#include "tessera/base/end_header.inl"
