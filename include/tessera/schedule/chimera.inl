// SPDX-License-Identifier: Apache-2.0
// Bodies of chimera.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/chimera.hpp"

namespace tessera::schedule::detail {

TESSERA_INLINE opposite_pipelines::opposite_pipelines(int stages, int micro_batches, const action_times& times,
                                                      const action_preference& how)
    : stages_(stages), count_(micro_batches), times_(times), how_(how), forward_(slots(), -1), backward_(slots(), -1),
      free_(to_size(stages), 0) {}

TESSERA_INLINE std::vector<std::vector<action>> opposite_pipelines::run() {
    std::vector<std::vector<action>> lists(to_size(stages_));
    for (std::size_t done = 0; done < 2 * slots();) {
        for (int w = 0; w < stages_; ++w) {
            done += free_[to_size(w)] <= now_ && place(w, lists[to_size(w)]) ? 1U : 0U;
        }
        index_t later = -1;
        for (const index_t f : free_) {
            later = f > now_ && (later < 0 || f < later) ? f : later;
        }
        now_ = later < 0 ? now_ : later; // actions that take no time
    }
    for (const index_t f : free_) {
        makespan_ = std::max(makespan_, f);
    }
    return lists;
}

TESSERA_INLINE int opposite_pipelines::drawn(int worker, int m, bool forward) const {
    const std::uint64_t of = forward ? slots() + slot(worker, m) : slot(worker, m);
    return how_.spread == 0 ? 0 : static_cast<int>(op::mix(how_.seed ^ of) % to_size(how_.spread * grain));
}

TESSERA_INLINE bool opposite_pipelines::place(int w, std::vector<action>& list) {
    action best{};
    index_t rank = -1;
    const auto see = [&](const action& x, bool forward) {
        const index_t r =
            index_t{grain} * (x.micro_batch + (forward ? how_.forward_waits : 0)) + drawn(w, x.micro_batch, forward);
        if (rank < 0 || r < rank) {
            rank = r;
            best = x;
        }
    };
    for (const int m : begun_) {
        const int i = m % 2 != 0 ? stages_ - 1 - w : w;
        ++work_;
        if (forward_[slot(i, m)] < 0) {
            if (i > 0 && ended(forward_[slot(i - 1, m)])) {
                see({i, m, action_kind::forward}, true);
            }
        } else if (backward_[slot(i, m)] < 0 &&
                   ended(i + 1 == stages_ ? forward_[slot(i, m)] : backward_[slot(i + 1, m)])) {
            see({i, m, action_kind::backward}, false);
        }
    }
    const bool enters = !how_.enters_last || rank < 0;
    for (int direction = 0; enters && direction < 2; ++direction) { // micro-batches of a direction begin in order
        const bool first = direction == 0 ? w == 0 : w + 1 == stages_;
        if (first && next_[to_size(direction)] < count_ && alive_[to_size(direction)] < how_.begun) {
            see({0, next_[to_size(direction)], action_kind::forward}, true);
        }
    }
    if (rank < 0) {
        return false;
    }
    const int m = best.micro_batch;
    const auto direction = to_size(m % 2);
    if (best.what == action_kind::forward && best.stage == 0) {
        begun_.push_back(m);
        next_[direction] += 2;
        ++alive_[direction];
    } else if (best.what == action_kind::backward && best.stage == 0) {
        begun_.erase(std::find(begun_.begin(), begun_.end(), m));
        --alive_[direction];
    }
    list.push_back(best);
    (best.what == action_kind::forward ? forward_ : backward_)[slot(best.stage, m)] = free_[to_size(w)] =
        now_ + times_(best.what);
    return true;
}

} // namespace tessera::schedule::detail

namespace tessera::schedule {

TESSERA_INLINE pipeline_schedule chimera(int stages, int micro_batches, const action_times& times) {
    require(check_chimera(stages, micro_batches, times));
    pipeline_schedule s = empty_schedule(stages, stages, micro_batches);
    for (int m = 0; m < micro_batches; ++m) {
        s.mirrored.push_back(static_cast<char>(m % 2));
    }
    // No worker does without its own work, nor begins before a micro-batch can have come to it, nor ends before its
    // last can have left.
    const index_t least = (micro_batches + std::min(stages, micro_batches) / 2 - 1) * (times.forward + times.backward);
    index_t makespan = -1;
    index_t work = 0;
    const auto enough = [&] { return makespan == least || work > detail::chimera_work; };
    const auto consider = [&](const detail::action_preference& preference) {
        detail::opposite_pipelines p(stages, micro_batches, times, preference);
        std::vector<std::vector<action>> lists = p.run();
        work += p.work();
        if (makespan < 0 || p.makespan() < makespan) {
            makespan = p.makespan();
            s.workers.swap(lists);
        }
    };
    const int never = 2 * micro_batches;
    for (int begun = std::max(stages / 2, 1); begun <= stages && !enough();
         ++begun) { // the fewest first: memory decides
        for (const int forward_waits : {never, 0}) {
            consider({begun, forward_waits, 0, false, 0});
        }
    }
    for (int i = 0; i < detail::chimera_draws && micro_batches > stages && !enough(); ++i) {
        const int waits[] = {0, 1, 2, stages / 2, stages, never};
        const int begun = std::max(stages - i % 3, 2);
        const int spread = std::max(stages / 2, 1) + i / 6 % (stages / 2 + 1);
        consider({begun, waits[i % 6], spread, i / 2 % 2 != 0, static_cast<std::uint64_t>(i) * 1000003 + 150461});
    }
    return s;
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
