// SPDX-License-Identifier: Apache-2.0
// Bodies of times.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/grid/times.hpp"

namespace tessera::search::detail {

TESSERA_INLINE operator_ends::operator_ends(const plan& p, const simulation::timeline& t, int ops)
    : ops_(ops), ends_(to_size(3 * ops * p.micro_batches), 0) {
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        const task& x = p.tasks[i];
        if (x.kind() == task_kind::compute && x.what != pass::update) {
            const int which = x.what == pass::forward ? 0 : x.what == pass::recompute ? 1 : 2;
            index_t& end = ends_[slot(which, x.op, x.micro_batch)];
            end = std::max(end, t.tasks[i].end);
        }
    }
}

TESSERA_INLINE index_t operator_ends::end(int which, int first, int last, int micro_batch) const {
    index_t latest = 0;
    for (int op = first; op < last; ++op) {
        latest = std::max(latest, end(which, op, micro_batch));
    }
    return latest;
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE const grid_times& grid_timer::times_of(const device_grid& x) {
    const route next = on_.between(0, x.stages > 1 ? x.data * x.tensor : 0);
    const index_t b = samples(x);
    const shortened_graph few = with_blocks(g_, repeats_, blocks_needed, 3 * b);
    const strategy s = few_blocks(x, few, 3, true);
    for (const timed& t : timed_) {
        if (t.samples == b && t.latency == next.latency && t.megabytes == next.megabytes && t.ops == s.ops) {
            return t.times;
        }
    }
    timed_.push_back({b, next.latency, next.megabytes, s.ops, measure(few.network.view(), s)});
    return timed_.back().times;
}

TESSERA_INLINE grid_times grid_timer::measure(const graph_view& g, const strategy& s) const {
    const plan p = lower(g, s.view(), on_.devices(), options_); // not bound: workspaces take no time
    simulation::task_activities activities(on_, g, times_);
    const simulation::timeline t = simulation::simulate(p, activities);
    const detail::operator_ends ends(p, t, g.op_count);
    grid_times all;
    const bool two = s.ops.back().stage > 0;
    all.first = micro_batch_times(g, ends, 0, two);
    all.next = micro_batch_times(g, ends, 1, two);
    return all;
}

TESSERA_INLINE grid_times::of_micro_batch
grid_timer::micro_batch_times(const graph_view& g, const detail::operator_ends& ends, int m, bool two) const {
    grid_times::of_micro_batch t;
    const int n = repeats_.length;
    int cut[6]; // what stands before, four blocks, what stands behind
    for (int k = 0; k < 5; ++k) {
        cut[k] = repeats_.first + k * n;
    }
    cut[5] = g.op_count;
    const index_t begin = m == 0 ? 0 : ends.end(2, 0, g.op_count, m - 1);
    index_t forward[6];
    forward[0] = std::max(begin, ends.end(0, 0, cut[0], m));
    for (int k = 1; k < 6; ++k) {
        forward[k] = std::max(forward[k - 1], ends.end(0, cut[k - 1], cut[k], m));
    }
    t.forward[0] = forward[0] - begin;
    t.forward[1] = forward[2] - forward[1];
    t.forward[2] = forward[5] - forward[4];
    t.send_forward = std::max<index_t>(1, forward[3] - forward[2] - t.forward[1]);
    const auto again = [&](int first, int last, index_t after) {
        return std::max<index_t>(0, ends.end(1, first, last, m) - after);
    };
    t.recompute[0] = again(0, cut[0], forward[two ? 2 : 5]);
    t.recompute[1] = again(cut[0], cut[1], std::max(forward[two ? 2 : 5], ends.end(1, 0, cut[0], m)));
    t.recompute_last = two ? again(cut[1], cut[2], ends.end(1, cut[0], cut[1], m)) : t.recompute[1];
    t.recompute[2] = again(cut[4], cut[5], ends.end(1, cut[3], cut[4], m));
    // Backward, every operator takes from the end of all before it to its own.
    index_t now = std::max(forward[5], ends.end(1, two ? cut[2] : 0, cut[5], m));
    const auto backward = [&](int first, int last, std::vector<index_t>* to) {
        for (int op = last - 1; op >= first; --op) {
            const index_t end = std::max(now, ends.end(2, op, m));
            if (to != nullptr) {
                to->insert(to->begin(), end - now);
            }
            now = end;
        }
    };
    backward(cut[4], cut[5], &t.backward[2]);
    backward(cut[3], cut[4], nullptr);
    const index_t fourth = now;
    backward(cut[2], cut[3], &t.backward[1]);
    const index_t third = now - fourth;
    backward(cut[1], cut[2], nullptr);
    t.send_backward = std::max<index_t>(1, now - fourth - 2 * third);
    backward(cut[0], cut[1], nullptr);
    backward(0, cut[0], &t.backward[0]);
    return t;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
