// SPDX-License-Identifier: Apache-2.0
// Bodies of list_progress.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/execute/local/list_progress.hpp"

#include "tessera/base/clock.hpp"
#include "tessera/execute/ranks/step_identity.hpp"
#include "tessera/net/paths.hpp"

#include <climits>

#include <sched.h>

namespace tessera {

TESSERA_INLINE list_progress::list_progress(const plan& p, workers& threads, int streams)
    : plan_(p), threads_(threads), spins_(threads.spins(streams)),
      sleeps_(streams > 1 && threads.is_crowded(streams) && threads.group() == nullptr) {
    const auto lists = to_size(p.lists());
    if (group() != nullptr) {
        if (lists > to_size(max_group_lists)) {
            throw error("tessera: a plan over ranks has at most " + std::to_string(max_group_lists) +
                        " lists, and this one has " + std::to_string(lists) + "; use fewer devices");
        }
        done_ = {group()->page().lists, lists};
    } else {
        own_done_ = std::vector<list_counter>(lists);
        done_ = own_done_;
    }
}

TESSERA_INLINE void list_progress::name_operators(const graph_view& g) {
    for (int op = static_cast<int>(names_.size()); op < g.op_count && group() != nullptr; ++op) {
        names_.push_back(path_of(g, op));
    }
}

TESSERA_INLINE void list_progress::meet_to_begin(const run_state& first) {
    group()->begins(first.step);
    if (first.identity != nullptr) {
        group()->compare(barrier_point::begin_run, first.identity->number, first.identity->lines);
    } else {
        group()->barrier(barrier_point::begin_run, plan_.hash + first.step);
    }
}

TESSERA_INLINE void list_progress::await_own(int list, int count) {
    list_counter& other = done_[to_size(list)];
    const auto over = [&] { return other.value.load(std::memory_order_acquire) >= count || threads_.failed(); };
    if (!sleeps_) {
        detail::spin_until(over, spins_);
        return;
    }
    const index_t begin = nanoseconds_now();
    detail::spin_until([&] { return over() || nanoseconds_now() - begin > patience; }, spins_);
    if (over()) {
        return;
    }
    other.sleepers.fetch_add(1);
    for (int seen = other.value.load(); seen < count && !threads_.failed(); seen = other.value.load()) {
        other.value.wait(seen);
    }
    other.sleepers.fetch_sub(1);
}

TESSERA_INLINE void list_progress::await_others(int list, int count) {
    const std::atomic<int>& other = done_[to_size(list)].value;
    const auto over = [&] { return other.load(std::memory_order_acquire) >= count || threads_.failed(); };
    for (int i = 0; i < spins_ && !over(); ++i) {
        detail::relax();
    }
    if (over()) {
        return;
    }
    const int owner = group()->owner(plan_.device_of_list(list));
    const index_t yields_for = group()->is_here(owner) ? long_wait : patience;
    for (const index_t began = nanoseconds_now(); !over(); detail::yield_or_nap(began, yields_for)) {
        group()->look(began, owner, [&] { return standing(list, count); });
        if (group()->failed()) {
            group()->throw_failure();
        }
    }
}

TESSERA_INLINE std::string list_progress::standing(int list, int count) const {
    const std::vector<int>& all = plan_.order[to_size(list)];
    const auto named = [&](int position) {
        const task& t = plan_.tasks[to_size(all[to_size(position)])];
        return "task " + std::to_string(position + 1) + " of " + std::to_string(all.size()) + " (" +
               (t.kind() == task_kind::compute ? to_text(t.what) : to_text(t.kind())) +
               (t.op >= 0                   ? " of " + names_[to_size(t.op)]
                : t.params().parameter >= 0 ? " of parameter " + std::to_string(t.params().parameter)
                                            : "") +
               ")";
    };
    const int now = done_[to_size(list)].value.load();
    return named(count - 1) + " of " + text_of_list(plan_, list) + ", on " +
           group()->name_of(group()->owner(plan_.device_of_list(list))) + ", which stands at " +
           named(now < count ? now : count - 1);
}

TESSERA_INLINE void list_progress::await_transfer(const transfer_queue& queue, const transfer_queue::wait& w) {
    const index_t began = nanoseconds_now();
    for (int i = 0; !queue.is_done(w) && !threads_.failed(); ++i) {
        if (queue.failed()) {
            threads_.fail();
            wake_all();
        } else if (i < spins_) {
            detail::relax();
        } else if (i < spins_ + 200) {
            sched_yield();
        } else {
            detail::nap(began);
            if (group() != nullptr) {
                group()->look(began, -1, [] { return "a transfer"; });
            }
        }
    }
}

TESSERA_INLINE void list_progress::wake_all() {
    for (list_counter& c : own_done_) { // processes of a group spin
        c.value.store(INT_MAX);         // to look again it must see another number
        c.value.notify_all();
    }
}

} // namespace tessera

#include "tessera/base/end_header.inl"
