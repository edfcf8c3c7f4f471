// SPDX-License-Identifier: Apache-2.0
// Activities that come and go, and their schedule: after a change it is worked out again only from the first difference, and, if wanted, only until it is
// certain that it takes longer than it may. What is worked out equals scheduler's result bit for bit.
#pragma once

#include "tessera/simulate/device_chains.hpp"
#include "tessera/simulate/schedule.hpp"

namespace tessera::simulation {

/// The activities stand in numbered slots; whoever changes them keeps `items`, successors and chains in agreement (see replace() and device_chains).
class changing_schedule {
public:
    struct timed {
        index_t ready = 0;
        index_t start = 0;
        index_t end = 0;
        index_t idle = 0; ///< of its device, before it starts
    };

    changing_schedule(int devices, int lanes) : chains(devices), free_(at(lanes)) {}

    const activity& item(int slot) const { return items_[at(slot)]; }
    /// As it was before the change under way.
    const timed& time_of(int slot) const { return now_[at(slot)]; }
    const timed& new_time_of(int slot) const { return is_kept(slot) ? now_[at(slot)] : trial_[at(slot)]; }
    index_t makespan() const { return makespan_; }
    std::size_t slots() const { return items_.size(); }
    std::size_t visited() const { return fresh_sequence_.size(); }

    int add_slot() {
        items_.emplace_back();
        successors_.emplace_back();
        now_.emplace_back();
        trial_.emplace_back();
        place_.push_back(nowhere);
        pending_.push_back(0);
        epoch_.push_back(0);
        rank_.push_back(0);
        chains.resize(items_.size());
        return static_cast<int>(items_.size()) - 1;
    }
    /// Puts an activity into a slot and gives back what was there.
    activity replace(int slot, activity&& what) {
        for (int p : items_[at(slot)].after) {
            std::vector<int>& list = successors_[at(p)];
            *std::find(list.begin(), list.end(), slot) = list.back();
            list.pop_back();
        }
        for (int p : what.after) {
            successors_[at(p)].push_back(slot);
        }
        std::swap(items_[at(slot)], what);
        return static_cast<activity&&>(what);
    }
    /// The place in the given order: of a fragment, and within it.
    void set_rank(int slot, int fragment, int place) { rank_[at(slot)] = (std::int64_t{fragment} << 32) + place; }

    /// How many activities of the schedule become ready before `time`.
    std::size_t before(index_t time) const {
        const auto place =
            std::partition_point(sequence_.begin(), sequence_.end(), [&](int a) { return now_[at(a)].ready < time; });
        return static_cast<std::size_t>(place - sequence_.begin());
    }

    /// Works the schedule out anew from a time before which nothing differs. `altered` are new activities and those that wait for others than before; `all`
    /// lists every activity, and `alive` says how many there are. Returns the makespan; INT64_MAX as soon as it is certain to be more than
    /// `most`: then accept() must not follow. Throws tessera::error if activities wait for each other.
    template <class All>
    index_t run(index_t from, const std::vector<int>& altered, std::size_t alive, const All& all,
                index_t most = INT64_MAX) {
        const std::size_t keep = before(from);
        keep_ = static_cast<int>(keep);
        ++run_;
        heap_.clear();
        fresh_sequence_.clear();
        std::fill(free_.begin(), free_.end(), 0);
        new_makespan_ = 0;
        for (const index_t work : chains.work) {
            if (work > most) {
                return INT64_MAX;
            }
        }
        keep == 0 ? all([this](int a) { begin(a); }) : resume(from, altered);
        while (!heap_.empty()) {
            std::pop_heap(heap_.begin(), heap_.end(), later);
            const int a = heap_.back().which;
            heap_.pop_back();
            start(a);
            const timed& t = trial_[at(a)];
            const int device = items_[at(a)].device;
            if (t.end > most || (device >= 0 && t.idle + chains.work[at(device)] > most)) {
                return INT64_MAX;
            }
        }
        if (fresh_sequence_.empty()) {
            for (std::size_t i = 0; i < keep; ++i) {
                new_makespan_ = std::max(new_makespan_, now_[at(sequence_[i])].end);
            }
        }
        if (keep + fresh_sequence_.size() != alive) {
            throw error("tessera: " + std::to_string(alive - keep - fresh_sequence_.size()) + " of " +
                        std::to_string(alive) +
                        " activities wait for each other; a plan that verify() accepts has no such circle");
        }
        return new_makespan_;
    }
    /// Keeps what run() worked out.
    void accept() {
        sequence_.resize(at(keep_));
        release_.resize(at(keep_));
        for (int a : fresh_sequence_) {
            place_[at(a)] = static_cast<int>(sequence_.size());
            now_[at(a)] = trial_[at(a)];
            index_t last = now_[at(a)].end;
            for (const lane_use& u : items_[at(a)].lanes) {
                last = std::max(last, now_[at(a)].start + u.busy);
            }
            sequence_.push_back(a);
            release_.push_back(last);
        }
        makespan_ = new_makespan_;
        keep_ = nowhere;
    }
    /// Forgets it.
    void reject() { keep_ = nowhere; }
    /// A slot whose activity is gone.
    void leave(int slot) { place_[at(slot)] = nowhere; }

    device_chains chains;

private:
    struct waiting {
        index_t ready = 0;
        std::int64_t rank = 0;
        int which = 0;
    };
    static constexpr int nowhere = INT32_MAX;
    static bool later(const waiting& a, const waiting& b) {
        return a.ready != b.ready ? a.ready > b.ready : a.rank > b.rank;
    }
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }
    bool is_kept(int slot) const { return place_[at(slot)] < keep_; }

    /// Counts what an activity still waits for, the first time that it is met.
    void meet(int a) {
        if (epoch_[at(a)] == run_) {
            return;
        }
        epoch_[at(a)] = run_;
        int waits = 0;
        index_t ready = 0;
        const auto look = [&](int before) {
            if (is_kept(before)) {
                ready = std::max(ready, now_[at(before)].end);
            } else {
                ++waits;
            }
        };
        for (int before : items_[at(a)].after) {
            look(before);
        }
        const int previous = items_[at(a)].device >= 0 ? chains.previous(a) : -1;
        if (previous >= 0) {
            look(previous);
        }
        pending_[at(a)] = waits;
        trial_[at(a)].ready = ready;
    }
    void push(int a) {
        heap_.push_back({trial_[at(a)].ready, rank_[at(a)], a});
        std::push_heap(heap_.begin(), heap_.end(), later);
    }
    void begin(int a) {
        if (epoch_[at(a)] != run_ && !is_kept(a)) {
            meet(a);
            pending_[at(a)] == 0 ? push(a) : void();
        }
    }
    /// What is ready when the kept beginning has ended: it waits for something that ends no earlier than the first difference, or is altered.
    void resume(index_t from, const std::vector<int>& altered) {
        for (std::size_t i = 0; i < at(keep_); ++i) {
            if (release_[i] < from) {
                continue;
            }
            const int a = sequence_[i];
            new_makespan_ = std::max(new_makespan_, now_[at(a)].end);
            for (const lane_use& u : items_[at(a)].lanes) {
                free_[at(u.lane)] = std::max(free_[at(u.lane)], now_[at(a)].start + u.busy);
            }
            for (int b : successors_[at(a)]) {
                begin(b);
            }
            if (items_[at(a)].device >= 0 && chains.next(a) >= 0) {
                begin(chains.next(a));
            }
        }
        for (int a : altered) {
            begin(a);
        }
    }

    void start(int a) {
        const activity& x = items_[at(a)];
        timed& t = trial_[at(a)];
        index_t begins = t.ready;
        for (const lane_use& u : x.lanes) {
            begins = std::max(begins, free_[at(u.lane)]);
        }
        for (const lane_use& u : x.lanes) {
            free_[at(u.lane)] = begins + u.busy;
        }
        t.start = begins;
        t.end = begins + x.duration;
        new_makespan_ = std::max(new_makespan_, t.end);
        fresh_sequence_.push_back(a);
        for (int b : successors_[at(a)]) {
            release(b, t.end);
        }
        if (x.device >= 0) {
            const int previous = chains.previous(a);
            t.idle = begins;
            if (previous >= 0) {
                const timed& p = new_time_of(previous);
                t.idle = p.idle + begins - p.end;
            }
            if (chains.next(a) >= 0) {
                release(chains.next(a), t.end);
            }
        }
    }
    void release(int b, index_t time) {
        meet(b);
        trial_[at(b)].ready = std::max(trial_[at(b)].ready, time);
        if (--pending_[at(b)] == 0) {
            push(b);
        }
    }

    std::vector<activity> items_;
    std::vector<std::vector<int>> successors_;
    std::vector<std::int64_t> rank_;
    std::vector<timed> now_;
    std::vector<timed> trial_;
    std::vector<int> place_; ///< in sequence_
    std::vector<int> sequence_;
    std::vector<index_t> release_; ///< by place: when the activity has ended and left all lanes
    std::vector<int> fresh_sequence_;
    std::vector<int> pending_;
    std::vector<int> epoch_;
    std::vector<index_t> free_;
    std::vector<waiting> heap_;
    index_t makespan_ = 0;
    index_t new_makespan_ = 0;
    int keep_ = nowhere; ///< activities of the schedule that the last run left as they were
    int run_ = 0;
};

} // namespace tessera::simulation
