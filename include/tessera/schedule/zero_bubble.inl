// SPDX-License-Identifier: Apache-2.0
// Bodies of zero_bubble.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/zero_bubble.hpp"

namespace tessera::schedule::detail {

TESSERA_INLINE pipeline_schedule without_weights(int stages, int micro_batches) {
    pipeline_schedule s = empty_schedule(stages, stages, micro_batches);
    for (int i = 0; i < stages; ++i) {
        std::vector<action>& list = s.workers[to_size(i)];
        take_turns(
            micro_batches, std::min(stages - 1 - i, micro_batches),
            [&](int m) {
                list.push_back({i, m, action_kind::forward});
            },
            [&](int m) {
                list.push_back({i, m, action_kind::backward_input});
            });
    }
    return s;
}

TESSERA_INLINE pipeline_schedule with_late_weights(pipeline_schedule s) {
    for (int i = 0; i < s.stages; ++i) {
        std::vector<action> list;
        const auto weights_of = [&](int m) {
            if (m >= 0 && m < s.micro_batches) {
                list.push_back({i, m, action_kind::backward_weight});
            }
        };
        for (const action& x : s.workers[to_size(i)]) {
            list.push_back(x);
            if (x.what == action_kind::backward_input) {
                weights_of(x.micro_batch - i);
            }
        }
        for (int m = std::max(0, s.micro_batches - i); m < s.micro_batches; ++m) {
            weights_of(m);
        }
        s.workers[to_size(i)].swap(list);
    }
    return s;
}

TESSERA_INLINE pipeline_schedule with_weights_in_waits(pipeline_schedule s, const action_times& times) {
    const auto at = [&](int stage, int m) { return to_size(stage) * to_size(s.micro_batches) + to_size(m); };
    const auto stages = to_size(s.stages);
    std::vector<index_t> forward(at(s.stages, 0), -1);
    std::vector<index_t> backward(at(s.stages, 0), -1);
    std::vector<std::vector<action>> lists(stages);
    std::vector<std::size_t> next(stages, 0);
    std::vector<index_t> free(stages, 0);
    std::vector<int> weights(stages, 0); // micro-batches whose weights' gradients are done; backward goes in order
    std::vector<int> inputs(stages, 0);
    bool left = true;
    for (index_t now = 0; left;) {
        left = false;
        index_t later = -1;
        for (int i = 0; i < s.stages; ++i) {
            const auto w = to_size(i);
            while (free[w] <= now && (next[w] < s.workers[w].size() || weights[w] < inputs[w])) {
                const auto ended = [&](index_t end) { return end >= 0 && end <= now; };
                bool ready = false;
                action x{i, weights[w], action_kind::backward_weight};
                if (next[w] < s.workers[w].size()) {
                    const action& y = s.workers[w][next[w]];
                    ready = y.what == action_kind::forward ? i == 0 || ended(forward[at(i - 1, y.micro_batch)])
                            : i + 1 == s.stages            ? ended(forward[at(i, y.micro_batch)])
                                                           : ended(backward[at(i + 1, y.micro_batch)]);
                    x = ready ? y : x;
                }
                if (!ready && weights[w] == inputs[w]) {
                    break;
                }
                if (ready) {
                    ++next[w];
                } else {
                    ++weights[w];
                }
                free[w] = now + times(x.what);
                inputs[w] += x.what == action_kind::backward_input ? 1 : 0;
                if (x.what != action_kind::backward_weight) {
                    (x.what == action_kind::forward ? forward : backward)[at(i, x.micro_batch)] = free[w];
                }
                lists[w].push_back(x);
            }
            left = left || next[w] < s.workers[w].size() || weights[w] < inputs[w];
            later = free[w] > now && (later < 0 || free[w] < later) ? free[w] : later;
        }
        now = later < 0 ? now : later;
    }
    s.workers.swap(lists);
    return s;
}

} // namespace tessera::schedule::detail

namespace tessera::schedule {

TESSERA_INLINE pipeline_schedule zero_bubble_h1(int stages, int micro_batches, const action_times& times) {
    require(check_times(times));
    const pipeline_schedule order = detail::without_weights(stages, micro_batches);
    pipeline_schedule s = detail::with_late_weights(order);
    if (micro_batches < stages) {
        pipeline_schedule filled = detail::with_weights_in_waits(order, times);
        if (timetable_of(filled, times).makespan < timetable_of(s, times).makespan) {
            return filled;
        }
    }
    return s;
}

} // namespace tessera::schedule

#include "tessera/base/end_header.inl"
