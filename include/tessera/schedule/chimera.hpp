// SPDX-License-Identifier: Apache-2.0
// Two pipelines in opposite directions: Li and Hoefler, "Chimera" (SC 2021).
#pragma once

#include "tessera/schedule/pipeline.hpp"
#include "tessera/schedule/timetable.hpp"

namespace tessera::schedule {

namespace detail {

/// Gives workers their steps one by one, in time: backward before forward, earlier micro-batches first.
class greedy {
public:
    greedy(pipeline_schedule& s, const step_times& times)
        : s_(s), times_(times), forward_(count(), -1), backward_(count(), -1), free_(s.workers.size(), 0),
          in_flight_(s.workers.size(), 0) {}

    void run() {
        const std::size_t total = 2 * count();
        std::size_t done = 0;
        for (index_t now = 0; done < total;) {
            for (int w = 0; w < s_.stages; ++w) {
                done += free_[at(w)] <= now && place(w, now) ? 1U : 0U;
            }
            index_t later = now + times_.forward + times_.backward;
            for (index_t f : free_) {
                later = f > now ? std::min(later, f) : later;
            }
            now = later;
        }
    }

private:
    static std::size_t at(int i) { return static_cast<std::size_t>(i); }
    std::size_t count() const { return at(s_.stages) * at(s_.micro_batches); }
    std::size_t slot(int stage, int m) const { return at(stage) * at(s_.micro_batches) + at(m); }
    static bool ended(index_t end, index_t now) { return end >= 0 && end <= now; }

    bool place(int w, index_t now) {
        for (int m = 0; m < s_.micro_batches; ++m) {
            const int i = s_.is_mirrored(m) ? s_.stages - 1 - w : w;
            const bool ready =
                i + 1 == s_.stages ? ended(forward_[slot(i, m)], now) : ended(backward_[slot(i + 1, m)], now);
            if (ready && backward_[slot(i, m)] < 0) {
                take(w, {i, m, step_kind::backward}, now, backward_[slot(i, m)]);
                --in_flight_[at(w)];
                return true;
            }
        }
        for (int m = 0; m < s_.micro_batches; ++m) {
            const int i = s_.is_mirrored(m) ? s_.stages - 1 - w : w;
            const bool ready = i == 0 ? in_flight_[at(w)] < s_.stages : ended(forward_[slot(i - 1, m)], now);
            if (ready && forward_[slot(i, m)] < 0) {
                take(w, {i, m, step_kind::forward}, now, forward_[slot(i, m)]);
                ++in_flight_[at(w)];
                return true;
            }
        }
        return false;
    }
    void take(int w, const step& x, index_t now, index_t& end) {
        s_.workers[at(w)].push_back(x);
        end = free_[at(w)] = now + times_(x.what);
    }

    pipeline_schedule& s_;
    step_times times_;
    std::vector<index_t> forward_;
    std::vector<index_t> backward_;
    std::vector<index_t> free_;
    std::vector<int> in_flight_;
};

} // namespace detail

/// Half of the micro-batches run down the workers and half, on mirrored replicas, up them; D stages and D micro-batches, or a multiple of
/// them in units one after the other, D even. Steps are placed by a list scheduler for the times given. For D micro-batches the idle share is
/// (D-2)/(3D-2) for Tb = Tf and (D-2)/(2.5D-2) for Tb = 2 Tf; up to D in flight, parameters twice.
inline pipeline_schedule chimera(int stages, int micro_batches, const step_times& times = {}) {
    pipeline_schedule s = empty_schedule(stages, stages, micro_batches);
    if (stages % 2 != 0 || micro_batches % 2 != 0) {
        throw error("tessera: Chimera needs an even number of stages and of micro-batches, not " +
                    std::to_string(stages) + " and " + std::to_string(micro_batches));
    }
    for (int m = 0; m < micro_batches; ++m) {
        s.mirrored.push_back(static_cast<char>(m % 2));
    }
    detail::check_times(times);
    detail::greedy(s, times).run();
    return s;
}

} // namespace tessera::schedule
