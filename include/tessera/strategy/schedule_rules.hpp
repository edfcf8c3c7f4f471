// SPDX-License-Identifier: Apache-2.0
// The rules of pipeline schedules: every action once, on one worker, and none that waits for itself.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/base/constant_vector.hpp"
#include "tessera/base/rules.hpp"
#include "tessera/strategy/pipeline_schedule.hpp"

#include <cstddef>

namespace tessera {

/// What the rules of a strategy ask of the schedule that it follows.
struct schedule_facts {
    int stages = 0; ///< 0: no schedule
    int micro_batches = 1;
    /// What batch norms that take statistics over the mini-batch would break under it.
    rule joint = rule::joint_statistics_one_by_one;
    friend constexpr bool operator==(const schedule_facts&, const schedule_facts&) = default;
};

namespace detail {

/// Numbers in a constant expression or not: under clang no std::vector can be resized in one.
class int_array {
public:
    constexpr int_array(std::size_t count, int value) : values_(new int[count + 1]), count_(count) {
        for (std::size_t i = 0; i <= count; ++i) {
            values_[i] = value;
        }
    }
    int_array(const int_array&) = delete;
    int_array& operator=(const int_array&) = delete;
    constexpr ~int_array() { delete[] values_; }

    constexpr int& operator[](std::size_t i) { return values_[i]; }
    constexpr int operator[](std::size_t i) const { return values_[i]; }
    constexpr std::size_t size() const { return count_; }

private:
    int* values_;
    std::size_t count_;
};

constexpr problem broken_action(rule what, const action& x, index_t found_number, index_t needed_number) {
    problem p{what, -1, -1, found_number, needed_number};
    p.action = static_cast<int>(x.what);
    p.stage = x.stage;
    p.micro_batch = x.micro_batch;
    return p;
}

/// Which actions a schedule has, of every stage and micro-batch.
class action_table {
public:
    constexpr explicit action_table(const pipeline_schedule& s)
        : s_(s), given_(slot(s.stages > 0 ? s.stages - 1 : 0, s.micro_batches), 0) {}

    /// The first rule that the schedule breaks by itself.
    TESSERA_VECTOR_CONSTEXPR problem fill() {
        if (s_.stages < 1 || s_.micro_batches < 1) {
            return {rule::pipeline_is_empty, -1, -1, s_.stages < 1 ? s_.stages : s_.micro_batches, 1};
        }
        if (const problem p = fill_actions()) {
            return p;
        }
        for (int i = 0; i < s_.stages; ++i) {
            for (int m = 0; m < s_.micro_batches; ++m) {
                if (!has(i, m, action_kind::forward)) {
                    return broken_action(rule::action_is_missing, {i, m, action_kind::forward}, 0, 1);
                }
                const bool input = has(i, m, action_kind::backward_input);
                const bool weight = has(i, m, action_kind::backward_weight);
                const int times = (has(i, m, action_kind::backward) ? 1 : 0) + (input && weight ? 1 : 0);
                if (times != 1 || input != weight) {
                    return broken_action(rule::backward_not_once, {i, m, action_kind::backward},
                                         times + (times > 0 && input != weight ? 1 : 0), 1);
                }
            }
        }
        const auto all = static_cast<std::size_t>(s_.micro_batches);
        for (const std::size_t marks : {s_.mirrored.size(), s_.keeps.size()}) {
            if (marks != 0 && marks != all) {
                return {rule::marks_for_other_micro_batches, -1, -1, static_cast<index_t>(marks), s_.micro_batches};
            }
        }
        return {};
    }
    constexpr bool has(int stage, int m, action_kind k) const {
        return (given_[slot(stage, m)] >> static_cast<int>(k) & 1) != 0;
    }
    constexpr std::size_t slot(int stage, int m) const {
        return static_cast<std::size_t>(stage) * static_cast<std::size_t>(s_.micro_batches > 0 ? s_.micro_batches : 0) +
               static_cast<std::size_t>(m > 0 ? m : 0);
    }
    constexpr std::size_t size() const { return given_.size(); }

private:
    TESSERA_VECTOR_CONSTEXPR problem fill_actions() {
        int_array home(size(), -1);
        for (std::size_t w = 0; w < s_.workers.size(); ++w) {
            for (const action& x : s_.workers[w]) {
                if (x.stage < 0 || x.stage >= s_.stages) {
                    return broken_action(rule::action_outside_schedule, x, x.stage, s_.stages);
                }
                if (x.micro_batch < 0 || x.micro_batch >= s_.micro_batches) {
                    return broken_action(rule::action_outside_schedule, x, x.micro_batch, s_.micro_batches);
                }
                const std::size_t at = slot(x.stage, x.micro_batch);
                if (has(x.stage, x.micro_batch, x.what)) {
                    return broken_action(rule::action_comes_twice, x, 2, 1);
                }
                given_[at] |= 1 << static_cast<int>(x.what);
                const int worker = static_cast<int>(w);
                home[at] = home[at] < 0 ? worker : home[at];
                if (home[at] != worker) {
                    return broken_action(rule::action_on_other_worker, x, worker, home[at]);
                }
            }
        }
        return {};
    }

    const pipeline_schedule& s_;
    int_array given_;
};

/// For every stage those that read its results: lists, one behind the other.
class stage_edges {
public:
    constexpr stage_edges(int stages, int edges)
        : begin_(static_cast<std::size_t>(stages > 0 ? stages : 0) + 2, 0),
          to_(static_cast<std::size_t>(edges > 0 ? edges : 0), 0) {}

    /// Every edge is counted first, then added.
    constexpr void count(int from) { ++begin_[static_cast<std::size_t>(from) + 2]; }
    constexpr void counted() {
        for (std::size_t i = 1; i < begin_.size(); ++i) {
            begin_[i] += begin_[i - 1];
        }
    }
    constexpr void add(int from, int to) {
        to_[static_cast<std::size_t>(begin_[static_cast<std::size_t>(from) + 1]++)] = to;
    }
    constexpr int begin(int stage) const { return begin_[static_cast<std::size_t>(stage)]; }
    constexpr int end(int stage) const { return begin_[static_cast<std::size_t>(stage) + 1]; }
    constexpr int operator[](int edge) const { return to_[static_cast<std::size_t>(edge)]; }

private:
    int_array begin_;
    int_array to_;
};

/// Calls use(other) for every action that an action waits for.
template <class Use>
constexpr void for_each_needed(const action_table& given, const stage_edges& after, const stage_edges& before,
                               const action& x, Use&& use) {
    const int m = x.micro_batch;
    if (x.what == action_kind::forward) {
        for (int e = before.begin(x.stage); e < before.end(x.stage); ++e) {
            use(action{before[e], m, action_kind::forward});
        }
        return;
    }
    use(action{x.stage, m, action_kind::forward});
    if (x.what == action_kind::backward_weight) {
        use(action{x.stage, m, action_kind::backward_input});
    } else if (x.what != action_kind::recompute) {
        if (given.has(x.stage, m, action_kind::recompute)) {
            use(action{x.stage, m, action_kind::recompute});
        }
        for (int e = after.begin(x.stage); e < after.end(x.stage); ++e) {
            const bool whole = given.has(after[e], m, action_kind::backward);
            use(action{after[e], m, whole ? action_kind::backward : action_kind::backward_input});
        }
    }
}

/// Takes the actions of a sound schedule in an order in which one worker could do them all: take(worker, action).
template <class Take>
constexpr problem walk(const pipeline_schedule& s, const action_table& given, const stage_edges& after,
                       const stage_edges& before, Take&& take) {
    int_array done(given.size(), 0);
    int_array next(s.workers.size(), 0);
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t w = 0; w < s.workers.size(); ++w) {
            for (; static_cast<std::size_t>(next[w]) < s.workers[w].size(); ++next[w]) {
                const action& x = s.workers[w][static_cast<std::size_t>(next[w])];
                bool ready = true;
                for_each_needed(given, after, before, x, [&](const action& other) {
                    ready = ready &&
                            (done[given.slot(other.stage, other.micro_batch)] >> static_cast<int>(other.what) & 1) != 0;
                });
                if (!ready) {
                    break;
                }
                take(static_cast<int>(w), x);
                done[given.slot(x.stage, x.micro_batch)] |= 1 << static_cast<int>(x.what);
                moved = true;
            }
        }
    }
    problem p;
    for (std::size_t w = 0; w < s.workers.size(); ++w) {
        const auto left = static_cast<index_t>(s.workers[w].size()) - next[w];
        if (left > 0 && !p) {
            p = broken_action(rule::schedule_waits_for_itself, s.workers[w][static_cast<std::size_t>(next[w])], 0, 0);
        }
        p.found += left; // actions that are never taken
    }
    return p;
}

} // namespace detail

/// The first rule that a schedule breaks by itself, whatever network follows it.
TESSERA_VECTOR_CONSTEXPR problem check_schedule(const pipeline_schedule& s) {
    detail::action_table given(s);
    return given.fill();
}

/// Why batch norms could not take their statistics over the mini-batch under a schedule; none: they can.
TESSERA_VECTOR_CONSTEXPR rule joint_rule(const pipeline_schedule& s) {
    bool splits = false;
    bool late = false;
    bool unordered = false;
    for (const std::vector<action>& list : s.workers) {
        const action* last = nullptr;
        for (const action& x : list) {
            const auto marked = static_cast<int>(s.mirrored.size()); // may be too few, which is another rule
            if (x.micro_batch >= 0 && x.micro_batch < marked && s.is_mirrored(x.micro_batch)) {
                return rule::joint_statistics_mirrored;
            }
            const bool forward = x.what == action_kind::forward;
            const bool after_forward = last == nullptr || last->what == action_kind::forward;
            splits = splits || x.what == action_kind::backward_input || x.what == action_kind::backward_weight;
            late = late || (last != nullptr && forward && (!after_forward || last->stage > x.stage));
            unordered = unordered || (!forward && !after_forward && last->stage < x.stage);
            last = &x;
        }
    }
    return splits      ? rule::joint_statistics_split_backward
           : late      ? rule::joint_statistics_too_late
           : unordered ? rule::joint_statistics_out_of_order
                       : rule::none;
}

/// What the rules of a strategy ask of this schedule.
TESSERA_VECTOR_CONSTEXPR schedule_facts facts_of(const pipeline_schedule& s) {
    return {s.stages, s.micro_batches, joint_rule(s)};
}

} // namespace tessera

#include "tessera/base/end_header.inl"
