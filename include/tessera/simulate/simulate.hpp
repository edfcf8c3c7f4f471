// SPDX-License-Identifier: Apache-2.0
// simulate(plan): predicts when every task of a plan starts and ends on a cluster, from the same tasks in the same
// order as the executor runs.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/late_sums.hpp"
#include "tessera/simulate/task_activities.hpp"
#include "tessera/simulate/timeline.hpp"

namespace tessera::simulation {

/// Resolves the order between activities: which tile was written by which, and which persistent tiles are read by
/// which.
class tile_users {
public:
    void resize(std::size_t tiles);
    /// Registers an activity after everything it comes after has been.
    template <class Root>
    void add(const task_activity& c, int number, const std::vector<tile>& tiles, const Root& root,
             std::vector<int>& after) {
        for (int r : c.reads) {
            const std::size_t base = root(r);
            if (writer[base] >= 0) {
                after.push_back(writer[base]);
            }
            if (base < others.size()) {
                after.insert(after.end(), others[base].begin(), others[base].end());
            }
            if (is_persistent(tiles[base].kind)) {
                readers[base].push_back(number);
                if (base < updaters.size()) {
                    after.insert(after.end(), updaters[base].begin(), updaters[base].end());
                }
            }
        }
        for (int w : c.overwrites) {
            for (int r : readers[root(w)]) {
                if (r != number) {
                    after.push_back(r);
                }
            }
            if (root(w) < updaters.size()) {
                updaters[root(w)].push_back(number);
            }
        }
        for (int w : c.writes) {
            if (c.in_part && writer[root(w)] >= 0 && writer[root(w)] != number) {
                others.resize(writer.size());
                others[root(w)].push_back(writer[root(w)]);
            }
            writer[root(w)] = number;
        }
        std::sort(after.begin(), after.end());
        after.erase(std::unique(after.begin(), after.end()), after.end());
    }

    std::vector<int> writer;
    std::vector<std::vector<int>> updaters; ///< of persistent tiles; only where something reads them after updates
    std::vector<std::vector<int>> others;   ///< earlier writers of other parts of a tile
    std::vector<std::vector<int>> readers;
};

/// A plan's activities in the plan's order, and which tasks each is part of.
struct activity_graph {
    struct covered {
        int first = 0;
        int count = 1;
    };
    std::vector<activity> items;
    std::vector<covered> tasks;
    int collectives = 0; ///< see timeline
};

/// The activities of a plan. Devices that copy in turn respect the plan's waits where they have been set, memory that
/// is used again included; everywhere else the order follows from the tiles. A communication stream takes its tasks one
/// after the other, in the plan's order.
activity_graph activities_of(const plan& p, task_activities& activities);

namespace detail {

/// Adds an activity to the spans of its tasks.
void add_span(std::vector<task_span>& spans, int first, int count, index_t start, index_t end);

} // namespace detail

/// The activities of a plan, and when each runs.
struct activity_run {
    activity_graph what;
    schedule when;
};

/// Runs a plan's activities once. Throws tessera::error for a plan of more devices than the cluster has, and for tasks
/// that wait for each other.
activity_run run_activities(const plan& p, task_activities& activities);

/// Simulates one run of a plan. Throws what run_activities() throws.
timeline simulate(const plan& p, task_activities& activities);

timeline simulate(const graph_view& g, const plan& p, const cluster& on, const task_times& times = {});

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/simulate.inl"
#endif

#include "tessera/base/end_header.inl"
