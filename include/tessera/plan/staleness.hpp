// SPDX-License-Identifier: Apache-2.0
// How old the parameters are that a plan's steps compute with.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/plan/plan.hpp"

namespace tessera {

/// Of every step of a plan how many steps before it have not yet updated a parameter that it computes with: the most of all its parameters. 0 where
/// gradients are used at once; never more than the bound of the plan's synchronization.
inline std::vector<int> staleness_of(const plan& p) {
    std::vector<int> updated(p.tiles.size(), 0); // by the steps before this one
    std::vector<char> late(p.tiles.size(), 0);   // its updates are an optimizer's
    for (const task& t : p.tasks) {
        if (t.kind == task_kind::update) {
            for (const int w : t.writes) {
                late[static_cast<std::size_t>(w)] = 1;
            }
        }
    }
    std::vector<int> by_step(static_cast<std::size_t>(p.period), 0);
    for (const task& t : p.tasks) {
        if (t.kind == task_kind::update) {
            for (const int w : t.writes) {
                updated[static_cast<std::size_t>(w)] = t.step + 1;
            }
            continue;
        }
        int& most = by_step[static_cast<std::size_t>(t.step)];
        for (const int r : t.reads) {
            const int missing = t.step - updated[static_cast<std::size_t>(r)];
            most = late[static_cast<std::size_t>(r)] != 0 && missing > most ? missing : most;
        }
    }
    return by_step;
}

/// What the steps of a training have computed with.
struct staleness_record {
    std::uint64_t steps = 0;
    int most = 0;              ///< steps whose updates were missing
    std::uint64_t total = 0;   ///< of all steps
    std::vector<int> last_run; ///< of each step of the last run of a plan

    double mean() const { return steps > 0 ? static_cast<double>(total) / static_cast<double>(steps) : 0; }
    /// The first `taken` steps of a run.
    void add(const std::vector<int>& by_step, std::size_t taken) {
        last_run.assign(by_step.begin(), by_step.begin() + static_cast<std::ptrdiff_t>(taken));
        for (const int s : last_run) {
            most = s > most ? s : most;
            total += static_cast<std::uint64_t>(s);
            ++steps;
        }
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
