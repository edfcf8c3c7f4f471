// SPDX-License-Identifier: Apache-2.0
// P3's three systems (Jayarajan et al. 2019, arXiv 1905.03960, section 5) on its machines: MXNet's servers, slices
// alone, slices with priorities.
#pragma once

#include "benchmarks/papers/gradients.hpp"

namespace papers {

enum class p3_system { servers, slices, priorities };

/// 4 machines with a worker and a server each; n servers.
inline ts::synchronization p3_policy(const workers& w, p3_system which) {
    std::vector<schedule::ready_gradient> all = w.gradients();
    if (which == p3_system::servers) {
        return policy_by("parameter-server", all, w.count());
    }
    if (which == p3_system::slices) { // as urgent as each other: first come, first served
        for (schedule::ready_gradient& x : all) {
            x.layer = 0;
        }
    }
    ts::synchronization s = policy_by("p3", all, w.count());
    s.urgent_first = which == p3_system::priorities;
    return s;
}

/// One MXNet server took 780 us to apply an update of 2 MB (apache/mxnet#14485).
inline constexpr index_t mxnet_server = 2560; // 10^6 bytes per second

/// Milliseconds of a steady step.
inline double p3_ms(const workers& w, const ts::synchronization& how, const ts::cluster& on,
                    index_t served = mxnet_server) {
    return w.steady_ms(how, on, w.times(served));
}

} // namespace papers
