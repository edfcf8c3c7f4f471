// SPDX-License-Identifier: Apache-2.0
// Tofu with the simulated step as its cost instead of bytes: ours, for the paper counts bytes alone.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/finished_step.hpp"
#include "tessera/search/tofu/tofu.hpp"
#include "tessera/simulate/delta/delta.hpp"

#include <atomic>
#include <utility>

namespace tessera::search {

struct tofu_timed {
    tofu_result found;  ///< its bytes are those of what was found
    index_t before = 0; ///< ns of a step of what moves least, as plans come from lowering
    index_t after = 0;  ///< ns of a step of what was found
    int simulated = 0;
};

/// From the strategy that moves least on, one group of operators takes another loop in one step at a time, and keeps it
/// where the simulated step gets shorter; until no such change does, `simulations` are made, or somebody interrupts.
/// The last steps, which move most, come first. What does not fit in the devices' memory is returned only where what
/// moves least does not fit either. Throws tessera::error for a machine of another number of devices than the steps
/// make groups.
// A template so that it is compiled where it is used.
template <class Options = tofu_options>
tofu_timed tofu_by_time(const graph_view& g, const cluster& on, const tofu_steps& steps, const Options& o,
                        int simulations, const lower_options& lowering = {},
                        const std::atomic<bool>* interrupted = nullptr) {
    detail::tofu_searcher searcher(g, steps, o);
    tofu_timed r;
    r.found = searcher.recursive();
    require(g, r.found.best.view(), on.devices());
    simulation::task_times times;
    simulation::delta_simulation now(g, on, r.found.best, times, lowering);
    r.before = r.after = now.makespan();
    std::vector<std::vector<int>> chosen = searcher.chosen();
    const std::vector<std::vector<int>> first = chosen;
    bool better = true;
    const auto try_history = [&](int group, const std::vector<int>& h) {
        std::vector<change> changes;
        for (const int op : searcher.groups().ops[to_size(group)]) {
            changes.push_back({op, {}, {}});
            changes.back().what = searcher.configuration_with(op, h, changes.back().pool);
        }
        ++r.simulated;
        const index_t time = now.propose(changes, r.after - 1);
        if (time >= r.after) {
            now.reject();
            return;
        }
        now.accept();
        r.after = time;
        chosen[to_size(group)] = h;
        better = true;
    };
    const auto goes_on = [&] { return r.simulated < simulations && (interrupted == nullptr || !interrupted->load()); };
    while (better && goes_on()) {
        better = false;
        for (int i = steps.count(); i-- > 0;) {
            for (int group = 0; group < static_cast<int>(chosen.size()); ++group) {
                for (const std::vector<int>& h : searcher.neighbours(group, chosen[to_size(group)], i)) {
                    if (goes_on()) {
                        try_history(group, h);
                    }
                }
            }
        }
    }
    if (chosen != first) {
        tofu_result timed = searcher.result_of(chosen);
        if (fits(g, on, timed.best, lowering) || !fits(g, on, r.found.best, lowering)) {
            r.found = std::move(timed);
        } else {
            r.after = r.before;
        }
    }
    return r;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
