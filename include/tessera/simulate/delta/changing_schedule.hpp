// SPDX-License-Identifier: Apache-2.0
// Activities that come and go, and their schedule: after a change it is worked out again only from the first
// difference, and, if wanted, only until it is certain that it takes longer than it may. What is worked out equals
// scheduler's result bit for bit.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/simulate/delta/device_chains.hpp"
#include "tessera/simulate/schedule.hpp"

namespace tessera::simulation {

/// The activities stand in numbered slots; whoever changes them keeps `items`, successors and chains in agreement (see
/// replace() and device_chains).
class changing_schedule {
public:
    struct timed {
        index_t ready = 0;
        index_t start = 0;
        index_t end = 0;
        index_t idle = 0; ///< of its device, before it starts
    };

    changing_schedule(int devices, int lanes)
        : chains(devices), lanes_(to_size(lanes)), history_(to_size(lanes)), after_(to_size(devices)) {}

    const activity& item(int slot) const { return items_[to_size(slot)]; }
    /// As it was before the change under way.
    const timed& time_of(int slot) const { return now_[to_size(slot)]; }
    const timed& new_time_of(int slot) const { return is_kept(slot) ? now_[to_size(slot)] : trial_[to_size(slot)]; }
    index_t makespan() const { return makespan_; }
    std::size_t slots() const { return items_.size(); }
    std::size_t visited() const { return fresh_sequence_.size(); }

    int add_slot();
    /// Puts an activity into a slot and gives back what was there.
    activity replace(int slot, activity&& what);
    /// The place in the given order: of a fragment, and within it.
    void set_rank(int slot, int fragment, int place) { rank_[to_size(slot)] = (std::int64_t{fragment} << 32) + place; }

    /// How many activities of the schedule become ready before `time`.
    std::size_t before(index_t time) const;

    /// Calls `f` with all that an activity comes after: what it waits for, and the one before it on its device.
    template <class Function>
    void for_each_before(int slot, Function&& f) const {
        const activity& x = items_[to_size(slot)];
        for (int before : x.after) {
            f(before);
        }
        if (x.device >= 0 && chains.previous(slot) >= 0) {
            f(chains.previous(slot));
        }
    }

    /// Works the schedule out anew from a time before which nothing differs. `altered` are new activities and those
    /// that wait for others than before; `all` lists every activity, and `alive` says how many there are. Returns the
    /// makespan; INT64_MAX as soon as it is certain to be more than `most`: then accept() must not follow. Throws
    /// tessera::error if activities wait for each other.
    template <class All>
    index_t run(index_t from, const std::vector<int>& altered, std::size_t alive, const All& all,
                index_t most = INT64_MAX) {
        const std::size_t keep = before(from);
        keep_ = static_cast<int>(keep);
        ++run_;
        heap_.clear();
        fresh_sequence_.clear();
        new_makespan_ = 0;
        most_ = most;
        too_long_ = false;
        set_bounds();
        if (too_long_) {
            return INT64_MAX;
        }
        keep == 0 ? all([this](int a) { begin(a); }) : resume(from, altered);
        while (!heap_.empty()) {
            std::pop_heap(heap_.begin(), heap_.end(), later);
            const int a = heap_.back().which;
            heap_.pop_back();
            start(a);
            if (too_long_) {
                return INT64_MAX;
            }
        }
        if (fresh_sequence_.empty()) {
            for (std::size_t i = 0; i < keep; ++i) {
                new_makespan_ = std::max(new_makespan_, now_[to_size(sequence_[i])].end);
            }
        }
        if (keep + fresh_sequence_.size() != alive) {
            throw error("tessera: " + std::to_string(alive - keep - fresh_sequence_.size()) + " of " +
                        std::to_string(alive) +
                        " activities wait for each other; a plan that verify() accepts has no such circle");
        }
        return new_makespan_ > most_ ? INT64_MAX : new_makespan_; // where nothing has changed nobody has asked yet
    }
    /// Keeps what run() worked out.
    void accept();
    /// Forgets it.
    void reject() { keep_ = nowhere; }
    /// A slot whose activity is gone.
    void leave(int slot) { place_[to_size(slot)] = nowhere; }

    device_chains chains;

private:
    struct waiting {
        index_t ready = 0;
        std::int64_t rank = 0;
        int which = 0;
    };
    static constexpr int nowhere = INT32_MAX;
    static bool later(const waiting& a, const waiting& b);
    bool is_kept(int slot) const { return place_[to_size(slot)] < keep_; }

    struct lane_state {
        index_t work = 0; ///< ns that all activities use it
        index_t free = 0; ///< since when, as far as the run has come
        index_t idle = 0; ///< ns that nobody has used it until then
    };
    struct device_end {
        std::vector<int> path; ///< from the last activity of the device on, each waiting for the one before
        index_t least = 0;     ///< ns that follow that last activity at least
    };
    struct lane_mark {
        int place = -1;
        index_t free = 0;
        index_t idle = 0;
    };

    // ---- bounds: a device, or a lane, that has been idle for x takes at least x longer than all its work ------------

    void set_bounds();
    /// For every device a way from its last activity to the end.
    void remember_paths();

    // ---- events -----------------------------------------------------------------------------------------------------

    /// Counts what an activity still waits for, the first time that it is met.
    void meet(int a);
    void push(int a);
    void begin(int a);
    /// What is ready when the kept beginning has ended: it waits for something that ends no earlier than the first
    /// difference, or is altered.
    void resume(index_t from, const std::vector<int>& altered);

    void start(int a);
    void release(int b, index_t time);

    std::vector<activity> items_;
    std::vector<std::vector<int>> successors_;
    std::vector<std::int64_t> rank_;
    std::vector<timed> now_;
    std::vector<timed> trial_;
    std::vector<int> place_; ///< in sequence_
    std::vector<int> sequence_;
    std::vector<index_t> ends_; ///< by place
    std::vector<int> fresh_sequence_;
    std::vector<int> pending_;
    std::vector<int> epoch_;
    std::vector<lane_state> lanes_;
    std::vector<std::vector<lane_mark>> history_; ///< of every lane, by place in the sequence
    std::vector<device_end> after_;               ///< by device
    index_t excess_ = 0;                          ///< by which an activity may keep a lane longer than it lasts
    index_t most_ = INT64_MAX;
    bool too_long_ = false;
    std::vector<waiting> heap_;
    index_t makespan_ = 0;
    index_t new_makespan_ = 0;
    int keep_ = nowhere; ///< activities of the schedule that the last run left as they were
    int run_ = 0;
};

} // namespace tessera::simulation

#ifndef TESSERA_COMPILED
#include "tessera/simulate/delta/changing_schedule.inl"
#endif

#include "tessera/base/end_header.inl"
