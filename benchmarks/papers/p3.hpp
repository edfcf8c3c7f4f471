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
    ts::synchronization s = schedule::p3(all, {w.count(), 50'000, {1, rate}});
    s.urgent_first = which == p3_system::priorities;
    return s;
}

/// One MXNet server took 780 us to apply an update of 2 MB (apache/mxnet#14485).
inline constexpr index_t mxnet_server = 2560; // 10^6 bytes per second

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
        ts::strategy now = w.strategy();
        now.sync = order;
        order = queued_again(w.view(), now, w.gradients(), on, times);
    }
    return best;
}

} // namespace papers
