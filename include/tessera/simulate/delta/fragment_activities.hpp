// SPDX-License-Identifier: Apache-2.0
// The activities of every fragment of a lowering, in a schedule: taken out and put in again when the fragment is made
// again.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/changing_schedule.hpp"
#include "tessera/simulate/delta/operator_lowering.hpp"
#include "tessera/simulate/simulate.hpp"

namespace tessera::simulation {

/// An activity, and the tasks of its fragment that it carries out.
struct placed {
    int activity = 0;
    int task = 0;
    int count = 1;
};

/// What a fragment has in the schedule.
struct part_of_fragment {
    std::vector<placed> activities;
    std::vector<std::pair<int, int>> reads; ///< persistent tiles, and the activity that reads them
    std::vector<device_run> runs;
};

/// What became of an activity in the change under way.
enum class activity_state : char { same, removed, altered, fresh };

/// What the change under way has replaced.
struct activity_undo {
    std::vector<int> touched; ///< fragments
    std::vector<part_of_fragment> parts;
    std::vector<std::pair<int, activity>> items;
    std::vector<std::pair<int, int>> writers;
    std::vector<int> fresh;
    std::vector<int> freed;
    std::size_t tiles = 0;
};

/// Which activities each fragment has, who writes and reads which tile, what waits for what, and how to undo the last
/// change of it.
struct fragment_activities {
    changing_schedule schedule;
    std::vector<part_of_fragment> fragments;
    tile_users users;
    std::vector<int> owner; ///< fragment of each activity
    std::vector<activity_state> state;
    std::vector<int> free;     ///< slots of activities that are gone
    std::vector<int> previous; ///< on the same device, before the change under way
    std::size_t alive = 0;

    // Of the change under way:
    std::vector<int> altered; ///< activities that are new, or wait for others than before
    std::vector<int> relinked;
    std::vector<int> place;  ///< of each activity in its fragment, before
    std::vector<int> run_of; ///< by device, of the fragment that is being put in
    activity_undo undo;

    fragment_activities(int devices, int lanes, const operator_lowering& of);

    /// Calls an action with every activity.
    auto every() const {
        return [this](const auto& action) {
            for (const part_of_fragment& f : fragments) {
                for (const placed& p : f.activities) {
                    action(p.activity);
                }
            }
        };
    }
    bool is(int slot, activity_state s) const { return state[to_size(slot)] == s; }
};

/// A change of these fragments begins, of a lowering that has so many tiles now.
void begin_change(fragment_activities& x, const std::vector<int>& touched, std::size_t tiles);
/// It has been kept, or undone.
void end_change(fragment_activities& x);

/// Forgets what a fragment reads, and what it has on devices.
void detach(fragment_activities& x, int f);

void take_out(fragment_activities& x, int f);

/// The activity that wrote one of the tiles before, if the fragment had one; else a new one.
int slot_for(fragment_activities& x, const task_activity& c, int f);

/// Puts a fragment in as it is lowered now.
void put_in(fragment_activities& x, const operator_lowering& lowering, task_activities& activities, int f);

/// Empties the slots of what was taken out and has not come back. Returns when the first of that became ready;
/// INT64_MAX if there is none.
index_t remove_gone(fragment_activities& x);

/// What has another predecessor on its device than before counts as altered.
void find_altered(fragment_activities& x);

/// The time before which the last schedule stays: nothing altered was, or can now become, ready. What is new or altered
/// becomes ready when all it comes after has ended; where some of that is new or altered too, that one came first.
index_t first_difference(const fragment_activities& x);

/// Keeps the change.
void keep(fragment_activities& x);

/// Returns to what was before the change.
void restore(fragment_activities& x);

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/delta/fragment_activities.inl"
#endif

#include "tessera/base/end_header.inl"
