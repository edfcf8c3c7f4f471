// SPDX-License-Identifier: Apache-2.0
// The activities of every fragment of a lowering, in a schedule: taken out and put in again when the fragment is made again.
#pragma once

#include "tessera/simulate/changing_schedule.hpp"
#include "tessera/simulate/operator_lowering.hpp"
#include "tessera/simulate/simulate.hpp"

namespace tessera::simulation {

/// What incremental_simulation keeps up to date: which activities each fragment has, who writes and reads which tile, what waits for what, and how to undo the
/// last change of it.
class fragment_activities {
protected:
    struct placed {
        int activity = 0;
        int task = 0;
        int count = 1;
    };
    struct part_of_fragment {
        std::vector<placed> activities;
        std::vector<std::pair<int, int>> reads; ///< persistent tiles, and the activity that reads them
        std::vector<device_run> runs;
    };
    enum state : char { same, removed, altered, fresh };
    struct undo_log {
        std::vector<int> touched;
        std::vector<part_of_fragment> parts;
        std::vector<std::pair<int, activity>> items;
        std::vector<std::pair<int, int>> writers;
        std::vector<int> fresh;
        std::vector<int> freed;
        std::size_t tiles = 0;
        void clear() { *this = undo_log{}; }
    };
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    /// Calls an action with every activity.
    auto every() const {
        return [this](const auto& action) {
            for (const part_of_fragment& f : fragments_) {
                for (const placed& p : f.activities) {
                    action(p.activity);
                }
            }
        };
    }

    /// Throws what operator_lowering throws. The cluster must outlive the object.
    fragment_activities(const cluster& on, const graph_view& g, const strategy& s, const task_times& times,
                        const lower_options& o)
        : on_(on), options_(o), lowering_(g, s, on.devices(), o), how_(on, g, times),
          schedule_(on.devices(), how_.lanes()) {
        rebuild();
    }

    void rebuild() {
        schedule_ = changing_schedule(on_.devices(), how_.lanes());
        schedule_.chains.reset(lowering_.fragment_count());
        free_.clear();
        owner_.clear();
        state_.clear();
        alive_ = 0;
        fragments_.assign(at(lowering_.fragment_count()), {});
        users_ = {};
        users_.resize(lowering_.tiles().size());
        tiles_at_start_ = lowering_.tiles().size();
        altered_.clear();
        undo_.clear();
        for (int f = 0; f < lowering_.fragment_count(); ++f) {
            put_in(f);
        }
        undo_.clear();
        clear_states();
        previous_.resize(schedule_.slots());
        for (std::size_t a = 0; a < previous_.size(); ++a) {
            previous_[a] = schedule_.chains.previous(static_cast<int>(a));
        }
        schedule_.run(0, altered_, alive_, every());
        schedule_.accept();
    }
    void clear_states() {
        state_.assign(schedule_.slots(), same);
        relinked_.clear();
    }

    void unregister(int f) {
        for (const auto& [tile, slot] : fragments_[at(f)].reads) {
            std::vector<int>& list = users_.readers[at(tile)];
            for (std::size_t i = 0; i < list.size(); ++i) {
                if (list[i] == slot) {
                    list[i] = list.back();
                    list.pop_back();
                    break;
                }
            }
        }
    }
    void unlink(int f) {
        for (const device_run& r : fragments_[at(f)].runs) {
            schedule_.chains.unlink(f, r, relinked_);
        }
    }
    void take_out(int f) {
        unregister(f);
        unlink(f);
        place_.resize(schedule_.slots());
        int place = 0;
        for (const placed& p : fragments_[at(f)].activities) {
            state_[at(p.activity)] = removed;
            place_[at(p.activity)] = place++;
        }
        undo_.parts.push_back(static_cast<part_of_fragment&&>(fragments_[at(f)]));
        fragments_[at(f)] = {};
    }

    /// The activity that wrote one of the tiles before, if the fragment had one; else a new one.
    int slot_for(const carried& c, int f) {
        for (int w : c.writes) {
            const int old = users_.writer[at(w)];
            if (old >= 0 && owner_[at(old)] == f && state_[at(old)] == removed) {
                state_[at(old)] = same;
                return old;
            }
        }
        int slot = static_cast<int>(schedule_.slots());
        if (free_.empty()) {
            schedule_.add_slot();
            owner_.push_back(f);
            state_.push_back(fresh);
        } else {
            slot = free_.back();
            free_.pop_back();
        }
        owner_[at(slot)] = f;
        state_[at(slot)] = fresh;
        undo_.fresh.push_back(slot);
        ++alive_;
        return slot;
    }

    void put_in(int f) {
        std::vector<carried> all = how_.carry(lowering_.tiles(), lowering_.part(f).tasks);
        const auto root = [this](int t) { return static_cast<std::size_t>(lowering_.root(t)); };
        std::vector<int> slots;
        slots.reserve(all.size());
        part_of_fragment& mine = fragments_[at(f)];
        mine.activities.reserve(all.size());
        run_of_.resize(at(on_.devices()), -1);
        int last_place = -1;
        for (carried& c : all) {
            const int slot = slot_for(c, f);
            char& now = state_[at(slot)];
            if (now == same) { // what has changed places with another may lose a tie against it
                now = place_[at(slot)] < last_place ? char{altered} : char{same};
                last_place = std::max(last_place, place_[at(slot)]);
            }
            schedule_.set_rank(slot, f, static_cast<int>(mine.activities.size()));
            slots.push_back(slot);
            mine.activities.push_back({slot, c.task, c.count});
            for (int b : c.beside) {
                c.what.after.push_back(slots[at(b)]);
            }
            for (int w : c.writes) {
                undo_.writers.push_back({w, users_.writer[at(w)]});
            }
            for (int r : c.reads) {
                if (is_persistent(lowering_.tiles()[root(r)].kind)) {
                    mine.reads.push_back({static_cast<int>(root(r)), slot});
                }
            }
            users_.add(c, slot, lowering_.tiles(), root, c.what.after);
            if (c.what.device >= 0) {
                int& run = run_of_[at(c.what.device)];
                if (run < 0) {
                    run = static_cast<int>(mine.runs.size());
                    mine.runs.push_back({c.what.device, 0, {}});
                }
                mine.runs[at(run)].slots.push_back(slot);
                mine.runs[at(run)].work += c.what.duration;
            }
            if (now == fresh || !(schedule_.item(slot) == c.what)) {
                now = now == same ? char{altered} : now;
                undo_.items.push_back({slot, schedule_.replace(slot, static_cast<activity&&>(c.what))});
            }
            if (now != same) {
                altered_.push_back(slot);
            }
        }
        for (const device_run& r : mine.runs) {
            run_of_[at(r.device)] = -1;
            schedule_.chains.link(f, r, relinked_);
        }
    }

    /// What has another predecessor on its device than before counts as altered.
    void find_altered() {
        previous_.resize(schedule_.slots(), -1);
        for (int a : relinked_) {
            if (state_[at(a)] == same && schedule_.chains.previous(a) != previous_[at(a)]) {
                state_[at(a)] = altered;
                altered_.push_back(a);
            }
        }
    }

    /// The time before which the last schedule stays: nothing altered was, or can now become, ready. What is new or altered becomes ready when all it
    /// comes after has ended; where some of that is new or altered too, that one came first.
    index_t first_difference() const {
        index_t first = INT64_MAX;
        for (int a : altered_) {
            if (state_[at(a)] == altered) {
                first = std::min(first, schedule_.time_of(a).ready);
            }
            index_t ready = 0;
            schedule_.for_each_before(a, [&](int before) {
                ready = state_[at(before)] != same ? INT64_MAX : std::max(ready, schedule_.time_of(before).end);
            });
            first = std::min(first, ready);
        }
        return first;
    }

    const cluster& on_;
    lower_options options_;
    operator_lowering lowering_;
    carrier how_;
    changing_schedule schedule_;
    std::vector<int> owner_; ///< fragment of each activity
    std::vector<char> state_;
    std::vector<int> place_; ///< in its fragment before the change
    std::vector<int> free_;
    std::vector<part_of_fragment> fragments_;
    tile_users users_;
    std::vector<int> run_of_; ///< by device, of the fragment that is being put in
    std::vector<int> altered_;
    std::vector<int> relinked_;
    std::vector<int> previous_; ///< on the same device, before the change under way
    undo_log undo_;
    std::size_t alive_ = 0;
    std::size_t tiles_at_start_ = 0;
};

} // namespace tessera::simulation
