// SPDX-License-Identifier: Apache-2.0
// P3's three systems (Jayarajan et al. 2019, arXiv 1905.03960, section 5) on its machines: MXNet's servers, slices alone, slices with priorities.
#pragma once

#include "benchmarks/papers/gradients.hpp"

namespace papers {

enum class p3_system { servers, slices, priorities };

/// 4 machines with a worker and a server each; n servers. Slices go in a fixed order, which is right for a network of `rate` bytes per ns.
inline ts::synchronization p3_policy(const workers& w, p3_system which, double rate) {
    std::vector<schedule::ready_gradient> all = w.gradients();
    if (which == p3_system::servers) {
        return schedule::parameter_server(all, {w.count()});
    }
    if (which == p3_system::slices) { // as urgent as each other: first come, first served
        for (schedule::ready_gradient& x : all) {
            x.layer = 0;
        }
    }
    return schedule::p3(all, {w.count(), 50'000, {1, rate}});
}

/// One MXNet server took 780 us to apply an update of 2 MB (apache/mxnet#14485).
inline constexpr index_t mxnet_server = 2560; // 10^6 bytes per second

/// The order in which queues by priority would have let messages go, as far as a simulation of two steps tells: at which times gradients were ready, and how
/// long after one message the link took the next.
inline ts::synchronization queued_again(const workers& w, const ts::synchronization& before, const ts::cluster& on,
                                        const ts::simulation::task_times& times) {
    const ts::plan p = w.plan(before, 2);
    const ts::simulation::timeline t = ts::simulation::simulate(w.view(), p, on, times);
    std::vector<index_t> ready(static_cast<std::size_t>(w.view().parameter_count), 0);
    std::vector<index_t> left; // when messages did
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        const ts::task& x = p.tasks[i];
        if (x.step == 1 && x.kind == ts::task_kind::update && x.how == ts::exchange::server) {
            left.push_back(t.tasks[i].start);
        } else if (x.step == 1 && x.kind == ts::task_kind::compute) {
            for (const int k : x.writes) {
                const ts::tile& to = p.tiles[static_cast<std::size_t>(k)];
                if (to.kind == ts::tile_kind::parameter_gradient) {
                    index_t& r = ready[static_cast<std::size_t>(to.tensor)];
                    r = std::max(r, t.tasks[i].end);
                }
            }
        }
    }
    struct waiting {
        int layer = 0;
        index_t ready = 0;
        const ts::message* what = nullptr;
    };
    std::vector<int> layer(ready.size(), 0);
    for (const schedule::ready_gradient& x : w.gradients()) {
        layer[static_cast<std::size_t>(x.parameter)] = x.layer;
    }
    std::vector<waiting> queue;
    for (const ts::message& m : before.messages) {
        const auto parameter = static_cast<std::size_t>(m.pieces[0].parameter);
        queue.push_back({layer[parameter], ready[parameter], &m});
    }
    const std::vector<waiting> sent = queue;
    std::sort(queue.begin(), queue.end(), [](const waiting& a, const waiting& b) {
        const int x = a.what->pieces[0].slice;
        const int y = b.what->pieces[0].slice;
        return a.layer != b.layer ? a.layer < b.layer : x < y;
    });
    ts::synchronization after = before;
    after.messages.clear();
    index_t now = 0;
    index_t each = 0; // ns from one message to the next, when that did not have to wait for its gradient
    for (std::size_t k = 0; k < sent.size(); ++k) {
        index_t soonest = INT64_MAX;
        for (const waiting& x : queue) {
            soonest = std::min(soonest, x.ready);
        }
        now = std::max(now, soonest);
        const auto next = std::find_if(queue.begin(), queue.end(), [now](const waiting& x) { return x.ready <= now; });
        after.messages.push_back(*next->what);
        queue.erase(next);
        if (k + 1 < sent.size() && sent[k + 1].ready <= left[k]) {
            each = left[k + 1] - left[k];
        }
        now += each;
    }
    return after;
}

struct p3_run {
    double ms = 0;
    ts::synchronization policy;
};

/// P3's workers decide at run time what goes next; a plan's order is fixed before. So it is made for a link of some rate, simulated, and made again with the times
/// of the simulation, and the fastest is taken.
inline p3_run run_p3(const workers& w, p3_system which, double gigabits, const ts::cluster& on,
                     index_t served = mxnet_server) {
    const double card = gigabits / 8 * w.count() / (2.0 * (w.count() - 1)); // pushes and pulls share it
    const ts::simulation::task_times times = w.times(served);
    p3_run best;
    ts::synchronization order = p3_policy(w, which, card);
    for (int round = 0; round < 5; ++round) {
        const double ms = w.steady_ms(order, on, times);
        if (best.ms == 0 || ms < best.ms) {
            best = {ms, order};
        }
        if (which != p3_system::priorities) {
            break;
        }
        order = queued_again(w, order, on, times);
    }
    return best;
}

} // namespace papers
