// SPDX-License-Identifier: Apache-2.0
// Delta simulation (FlexFlow, MLSys 2019, section 5.3): after a change of one operator's configuration only the tasks that it touches are
// lowered again, and time is simulated again only from the first difference. The timeline is bit for bit that of a full simulation.
#pragma once

#include "tessera/simulate/operator_lowering.hpp"
#include "tessera/simulate/simulate.hpp"

namespace tessera::simulation {

class delta_simulation {
public:
    /// The cluster must outlive the object. Throws what operator_lowering throws, and for more devices than the cluster has.
    delta_simulation(const cluster& on, const graph_view& g, const strategy& s, const task_times& times = {},
                     const lower_options& o = {})
        : on_(on), options_(o), lowering_(g, s, on.devices(), o), how_(on, g, times),
          scheduler_(on.devices(), how_.lanes()) {
        rebuild();
    }

    index_t makespan() const { return now_.makespan; }
    const strategy& current() const { return lowering_.current(); }
    const operator_lowering& lowered() const { return lowering_; }
    std::size_t activities() const { return order_.size(); }
    /// Activities that the last simulation worked out.
    std::size_t visited() const { return now_.visited; }

    /// The makespan after a change of one operator's configuration (see operator_lowering::propose). Afterwards accept() or reject().
    index_t propose(int op, const configuration& c, const std::vector<int>& devices = {}) {
        const std::vector<int>& touched = lowering_.propose(op, c, devices);
        undo_.clear();
        undo_.touched = touched;
        undo_.tiles = users_.writer.size();
        users_.resize(lowering_.tiles().size());
        state_.resize(items_.size(), same);
        for (int f : touched) {
            take_out(f);
        }
        for (int f : touched) {
            put_in(f);
        }
        for (const part_of_fragment& p : undo_.parts) {
            for (const placed& a : p.activities) {
                if (state_[at(a.activity)] == removed) {
                    undo_.freed.push_back(a.activity);
                }
            }
        }
        undo_.order = order_;
        list_order();
        list_previous();
        const std::size_t keep = unchanged();
        before_ = now_;
        now_.resize(items_.size());
        scheduler_.run(items_, order_, now_, keep);
        return now_.makespan;
    }
    void accept() {
        lowering_.accept();
        clear_states();
        previous_.swap(new_previous_);
        free_.insert(free_.end(), undo_.freed.begin(), undo_.freed.end());
        if (lowering_.tiles().size() > 4 * tiles_at_start_ + 1000) { // tiles that nothing uses any more
            lowering_ = operator_lowering(lowering_.network(), compacted(lowering_.current()), on_.devices(), options_);
            rebuild();
        }
    }
    void reject() {
        lowering_.reject();
        clear_states();
        now_.ready.swap(before_.ready);
        now_.start.swap(before_.start);
        now_.end.swap(before_.end);
        now_.sequence.swap(before_.sequence);
        now_.makespan = before_.makespan;
        for (int f : undo_.touched) {
            unregister(f);
        }
        for (std::size_t i = undo_.writers.size(); i-- > 0;) {
            users_.writer[at(undo_.writers[i].first)] = undo_.writers[i].second;
        }
        for (auto& [slot, old] : undo_.items) {
            items_[at(slot)] = static_cast<activity&&>(old);
        }
        for (std::size_t i = 0; i < undo_.touched.size(); ++i) {
            fragments_[at(undo_.touched[i])] = static_cast<part_of_fragment&&>(undo_.parts[i]);
            for (const auto& [tile, slot] : fragments_[at(undo_.touched[i])].reads) {
                users_.readers[at(tile)].push_back(slot);
            }
        }
        free_.insert(free_.end(), undo_.fresh.begin(), undo_.fresh.end());
        users_.writer.resize(undo_.tiles);
        users_.readers.resize(undo_.tiles);
        order_.swap(undo_.order);
    }

    /// When every task starts and ends, in the plan's order.
    std::vector<task_span> spans() const {
        std::vector<task_span> all;
        for (int f = 0; f < lowering_.fragment_count(); ++f) {
            std::vector<task_span> mine(lowering_.part(f).tasks.size());
            for (const placed& p : fragments_[at(f)].activities) {
                detail::add_span(mine, p.task, p.count, now_.start[at(p.activity)], now_.end[at(p.activity)]);
            }
            all.insert(all.end(), mine.begin(), mine.end());
        }
        return all;
    }

private:
    struct placed {
        int activity = 0;
        int task = 0;
        int count = 1;
    };
    struct part_of_fragment {
        std::vector<placed> activities;
        std::vector<std::pair<int, int>> reads; ///< persistent tiles, and the activity that reads them
    };
    enum state : char { same, removed, altered, fresh };
    struct undo_log {
        std::vector<int> touched;
        std::vector<part_of_fragment> parts;
        std::vector<std::pair<int, activity>> items;
        std::vector<std::pair<int, int>> writers;
        std::vector<int> fresh;
        std::vector<int> freed;
        std::vector<int> order;
        std::size_t tiles = 0;
        void clear() { *this = undo_log{}; }
    };
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }

    void rebuild() {
        items_.clear();
        free_.clear();
        owner_.clear();
        state_.clear();
        fragments_.assign(at(lowering_.fragment_count()), {});
        users_ = {};
        users_.resize(lowering_.tiles().size());
        tiles_at_start_ = lowering_.tiles().size();
        for (int f = 0; f < lowering_.fragment_count(); ++f) {
            put_in(f);
        }
        undo_.clear();
        clear_states();
        list_order();
        list_previous();
        previous_.swap(new_previous_);
        clear_states();
        now_ = {};
        scheduler_.run(items_, order_, now_);
    }
    void clear_states() { state_.assign(items_.size(), same); }

    /// A strategy without the device lists that are no longer used.
    static strategy compacted(const strategy& s) {
        strategy c = s;
        c.pool.clear();
        for (configuration& op : c.ops) {
            for (int l = 0; l < max_loops; ++l) {
                if (op.cuts[l] >= 0) {
                    const auto first = s.pool.begin() + op.cuts[l];
                    op.cuts[l] = static_cast<int>(c.pool.size());
                    c.pool.insert(c.pool.end(), first, first + op.degree[l] - 1);
                }
            }
            if (op.devices >= 0) {
                const auto first = s.pool.begin() + op.devices;
                op.devices = static_cast<int>(c.pool.size());
                c.pool.insert(c.pool.end(), first, first + op.shards());
            }
        }
        return c;
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
    void take_out(int f) {
        unregister(f);
        place_.resize(items_.size());
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
                undo_.items.push_back({old, static_cast<activity&&>(items_[at(old)])});
                return old;
            }
        }
        int slot = static_cast<int>(items_.size());
        if (free_.empty()) {
            items_.emplace_back();
            owner_.push_back(f);
            state_.push_back(fresh);
        } else {
            slot = free_.back();
            free_.pop_back();
        }
        owner_[at(slot)] = f;
        state_[at(slot)] = fresh;
        undo_.fresh.push_back(slot);
        return slot;
    }

    void put_in(int f) {
        std::vector<carried> all = how_.carry(lowering_.tiles(), lowering_.part(f).tasks);
        const auto root = [this](int t) { return static_cast<std::size_t>(lowering_.root(t)); };
        std::vector<int> slots;
        part_of_fragment& mine = fragments_[at(f)];
        int last_place = -1;
        for (carried& c : all) {
            const int slot = slot_for(c, f);
            if (state_[at(slot)] == same) { // what has changed places with another may lose a tie against it
                state_[at(slot)] = place_[at(slot)] < last_place ? altered : same;
                last_place = std::max(last_place, place_[at(slot)]);
            }
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
            activity& item = items_[at(slot)];
            if (state_[at(slot)] == same && !(undo_.items.back().second == c.what)) {
                state_[at(slot)] = altered;
            }
            item = static_cast<activity&&>(c.what);
        }
    }

    void list_order() {
        order_.clear();
        for (const part_of_fragment& f : fragments_) {
            for (const placed& p : f.activities) {
                order_.push_back(p.activity);
            }
        }
    }

    /// Notes what comes before every activity on its device; what has another predecessor than before counts as altered.
    void list_previous() {
        new_previous_.assign(items_.size(), -1);
        previous_.resize(items_.size(), -1);
        std::vector<int> last(at(on_.devices()), -1);
        for (int a : order_) {
            const int device = items_[at(a)].device;
            if (device >= 0) {
                new_previous_[at(a)] = last[at(device)];
                last[at(device)] = a;
                if (state_[at(a)] == same && new_previous_[at(a)] != previous_[at(a)]) {
                    state_[at(a)] = altered;
                }
            }
        }
    }

    /// How much of the last simulation stays: all before the first that was removed, altered, or can now become ready. What is new or altered becomes
    /// ready when all it comes after has ended; where some of that is new or altered too, that one came first.
    std::size_t unchanged() const {
        index_t first = INT64_MAX;
        for (const part_of_fragment& p : undo_.parts) {
            for (const placed& a : p.activities) {
                if (state_[at(a.activity)] == removed) {
                    first = std::min(first, now_.ready[at(a.activity)]);
                }
            }
        }
        for (int a : order_) {
            if (state_[at(a)] == same) {
                continue;
            }
            if (state_[at(a)] == altered) {
                first = std::min(first, now_.ready[at(a)]);
            }
            index_t ready = 0;
            for (int before : items_[at(a)].after) {
                if (state_[at(before)] != same) {
                    ready = INT64_MAX;
                    break;
                }
                ready = std::max(ready, now_.end[at(before)]);
            }
            first = std::min(first, ready);
        }
        const auto place = std::partition_point(now_.sequence.begin(), now_.sequence.end(),
                                                [&](int a) { return now_.ready[at(a)] < first; });
        return static_cast<std::size_t>(place - now_.sequence.begin());
    }

    const cluster& on_;
    lower_options options_;
    operator_lowering lowering_;
    carrier how_;
    scheduler scheduler_;
    std::vector<activity> items_;
    std::vector<int> owner_; ///< fragment of each activity
    std::vector<char> state_;
    std::vector<int> place_; ///< in its fragment before the change
    std::vector<int> free_;
    std::vector<part_of_fragment> fragments_;
    tile_users users_;
    std::vector<int> order_;
    std::vector<int> previous_; ///< on the same device
    std::vector<int> new_previous_;
    schedule now_;
    schedule before_;
    undo_log undo_;
    std::size_t tiles_at_start_ = 0;
};

} // namespace tessera::simulation
