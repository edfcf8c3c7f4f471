// SPDX-License-Identifier: Apache-2.0
// Synchronization in a strategy that is a type: synchronize<zero<2>>. The policies' own files say what their types are.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/gradients.hpp"
#include "tessera/strategy/typed_options.hpp"

namespace tessera {

/// What the times at which gradients are ready, and the orders that follow, are predicted with: one worker's speed in
/// 10^9 FLOP/s and its link's in 10^6 bytes/s, and how many workers share the batch.
template <index_t Gigaflops = 1000, index_t Megabytes = 1000, int Workers = 1>
struct predicted_for {
    static constexpr schedule::worker_speed speed{static_cast<double>(Gigaflops),
                                                  static_cast<double>(Megabytes) / 1000};
    static constexpr int workers = Workers;
};

/// How gradients become new parameters. A Policy is a type with
///     static constexpr problem check();      // by itself
///     static constexpr sync_modes modes();   // of what make() returns for gradients; without any it has no messages
///     static synchronization make(const std::vector<schedule::ready_gradient>&, const schedule::worker_speed&);
template <class Policy, class Predicted = predicted_for<>>
struct synchronize {
    static constexpr detail::says what = detail::says::synchronization;
    static constexpr int pool_size = 0;

    static constexpr problem check(const graph_view&) {
        const problem p = Policy::check();
        return p ? p : schedule::check_workers(Predicted::speed, Predicted::workers);
    }
    static constexpr sync_modes modes(const graph_view& g) {
        sync_modes m = Policy::modes();
        m.has_messages = m.has_messages && detail::first_trained(g) >= 0;
        return m;
    }
    static synchronization make_synchronization(const graph_view& g) {
        return Policy::make(schedule::gradients_of(g, Predicted::speed, Predicted::workers), Predicted::speed);
    }
};

} // namespace tessera

#include "tessera/base/end_header.inl"
