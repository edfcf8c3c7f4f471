// SPDX-License-Identifier: Apache-2.0
// Bodies of fragment_activities.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/fragment_activities.hpp"

#include <utility>

namespace tessera::simulation {

TESSERA_INLINE fragment_activities::fragment_activities(int devices, int lanes, const operator_lowering& of)
    : schedule(devices, lanes), fragments(to_size(of.fragment_count())), run_of(to_size(devices), -1) {
    schedule.chains.reset(of.fragment_count());
    users.resize(of.tiles().size());
}

TESSERA_INLINE void begin_change(fragment_activities& x, const std::vector<int>& touched, std::size_t tiles) {
    x.undo.touched = touched;
    x.undo.tiles = x.users.writer.size();
    x.users.resize(tiles);
}

TESSERA_INLINE void end_change(fragment_activities& x) {
    x.state.assign(x.schedule.slots(), activity_state::same);
    x.altered.clear();
    x.relinked.clear();
    x.undo = {};
}

TESSERA_INLINE void detach(fragment_activities& x, int f) {
    for (const auto& [tile, slot] : x.fragments[to_size(f)].reads) {
        std::vector<int>& list = x.users.readers[to_size(tile)];
        const auto place = std::find(list.begin(), list.end(), slot);
        if (place != list.end()) {
            *place = list.back();
            list.pop_back();
        }
    }
    for (const device_run& r : x.fragments[to_size(f)].runs) {
        x.schedule.chains.unlink(f, r, x.relinked);
    }
}

TESSERA_INLINE void take_out(fragment_activities& x, int f) {
    detach(x, f);
    x.place.resize(x.schedule.slots());
    int place = 0;
    for (const placed& p : x.fragments[to_size(f)].activities) {
        x.state[to_size(p.activity)] = activity_state::removed;
        x.place[to_size(p.activity)] = place++;
    }
    x.undo.parts.push_back(std::move(x.fragments[to_size(f)]));
    x.fragments[to_size(f)] = {};
}

TESSERA_INLINE int slot_for(fragment_activities& x, const task_activity& c, int f) {
    for (int w : c.writes) {
        const int old = x.users.writer[to_size(w)];
        if (old >= 0 && x.owner[to_size(old)] == f && x.is(old, activity_state::removed)) {
            x.state[to_size(old)] = activity_state::same;
            return old;
        }
    }
    int slot = static_cast<int>(x.schedule.slots());
    if (x.free.empty()) {
        x.schedule.add_slot();
        x.owner.push_back(f);
        x.state.push_back(activity_state::fresh);
    } else {
        slot = x.free.back();
        x.free.pop_back();
    }
    x.owner[to_size(slot)] = f;
    x.state[to_size(slot)] = activity_state::fresh;
    x.undo.fresh.push_back(slot);
    ++x.alive;
    return slot;
}

TESSERA_INLINE void put_in(fragment_activities& x, const operator_lowering& lowering, task_activities& activities,
                           int f) {
    std::vector<task_activity> all = activities.of(lowering.tiles(), lowering.part(f).tasks);
    const auto root = [&](int t) { return to_size(lowering.root(t)); };
    std::vector<int> slots;
    slots.reserve(all.size());
    part_of_fragment& mine = x.fragments[to_size(f)];
    mine.activities.reserve(all.size());
    int last_place = -1;
    for (task_activity& c : all) {
        const int slot = slot_for(x, c, f);
        activity_state& now = x.state[to_size(slot)];
        if (now == activity_state::same) { // what has changed places with another may lose a tie against it
            now = x.place[to_size(slot)] < last_place ? activity_state::altered : activity_state::same;
            last_place = std::max(last_place, x.place[to_size(slot)]);
        }
        x.schedule.set_rank(slot, f, static_cast<int>(mine.activities.size()));
        slots.push_back(slot);
        mine.activities.push_back({slot, c.task, c.count});
        for (int b : c.predecessors) {
            c.what.after.push_back(slots[to_size(b)]);
        }
        for (int w : c.writes) {
            x.undo.writers.push_back({w, x.users.writer[to_size(w)]});
        }
        for (int r : c.reads) {
            if (is_persistent(lowering.tiles()[root(r)].kind)) {
                mine.reads.push_back({static_cast<int>(root(r)), slot});
            }
        }
        x.users.add(c, slot, lowering.tiles(), root, c.what.after);
        if (c.what.device >= 0) {
            int& run = x.run_of[to_size(c.what.device)];
            if (run < 0) {
                run = static_cast<int>(mine.runs.size());
                mine.runs.push_back({c.what.device, 0, {}});
            }
            mine.runs[to_size(run)].slots.push_back(slot);
            mine.runs[to_size(run)].work += c.what.duration;
        }
        if (now == activity_state::fresh || !(x.schedule.item(slot) == c.what)) {
            now = now == activity_state::same ? activity_state::altered : now;
            x.undo.items.push_back({slot, x.schedule.replace(slot, std::move(c.what))});
        }
        if (now != activity_state::same) {
            x.altered.push_back(slot);
        }
    }
    for (const device_run& r : mine.runs) {
        x.run_of[to_size(r.device)] = -1;
        x.schedule.chains.link(f, r, x.relinked);
    }
}

TESSERA_INLINE index_t remove_gone(fragment_activities& x) {
    index_t first = INT64_MAX;
    for (const part_of_fragment& p : x.undo.parts) {
        for (const placed& a : p.activities) {
            if (x.is(a.activity, activity_state::removed)) {
                x.undo.freed.push_back(a.activity);
                x.undo.items.push_back({a.activity, x.schedule.replace(a.activity, {})});
                first = std::min(first, x.schedule.time_of(a.activity).ready);
                --x.alive;
            }
        }
    }
    return first;
}

TESSERA_INLINE void find_altered(fragment_activities& x) {
    x.previous.resize(x.schedule.slots(), -1);
    for (int a : x.relinked) {
        if (x.is(a, activity_state::same) && x.schedule.chains.previous(a) != x.previous[to_size(a)]) {
            x.state[to_size(a)] = activity_state::altered;
            x.altered.push_back(a);
        }
    }
}

TESSERA_INLINE index_t first_difference(const fragment_activities& x) {
    index_t first = INT64_MAX;
    for (int a : x.altered) {
        if (x.is(a, activity_state::altered)) {
            first = std::min(first, x.schedule.time_of(a).ready);
        }
        index_t ready = 0;
        x.schedule.for_each_before(a, [&](int before) {
            ready = x.is(before, activity_state::same) ? std::max(ready, x.schedule.time_of(before).end) : INT64_MAX;
        });
        first = std::min(first, ready);
    }
    return first;
}

TESSERA_INLINE void keep(fragment_activities& x) {
    x.schedule.accept();
    for (int a : x.relinked) {
        x.previous[to_size(a)] = x.schedule.chains.previous(a);
    }
    for (int a : x.undo.freed) {
        x.schedule.leave(a);
        x.free.push_back(a);
    }
    end_change(x);
}

TESSERA_INLINE void restore(fragment_activities& x) {
    x.schedule.reject();
    for (int f : x.undo.touched) {
        detach(x, f);
    }
    for (std::size_t i = x.undo.writers.size(); i-- > 0;) {
        x.users.writer[to_size(x.undo.writers[i].first)] = x.undo.writers[i].second;
    }
    for (std::size_t i = x.undo.items.size(); i-- > 0;) {
        x.schedule.replace(x.undo.items[i].first, std::move(x.undo.items[i].second));
    }
    for (std::size_t i = 0; i < x.undo.touched.size(); ++i) {
        const int f = x.undo.touched[i];
        part_of_fragment& mine = x.fragments[to_size(f)] = std::move(x.undo.parts[i]);
        for (const auto& [tile, slot] : mine.reads) {
            x.users.readers[to_size(tile)].push_back(slot);
        }
        for (const device_run& r : mine.runs) {
            x.schedule.chains.link(f, r, x.relinked);
        }
        for (std::size_t k = 0; k < mine.activities.size(); ++k) {
            x.schedule.set_rank(mine.activities[k].activity, f, static_cast<int>(k));
        }
    }
    x.alive += x.undo.freed.size();
    x.alive -= x.undo.fresh.size();
    x.free.insert(x.free.end(), x.undo.fresh.begin(), x.undo.fresh.end());
    x.users.writer.resize(x.undo.tiles);
    x.users.readers.resize(x.undo.tiles);
    end_change(x);
}

} // namespace tessera::simulation

#include "tessera/base/end_header.inl"
