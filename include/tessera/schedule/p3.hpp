// SPDX-License-Identifier: Apache-2.0
// Priority-based parameter propagation: Jayarajan et al., "P3" (arXiv 1905.03960, MLSys 2019).
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/schedule/policy_record.hpp"
#include "tessera/schedule/typed_synchronization.hpp"

namespace tessera::schedule {

/// P3's settings: 50,000 parameters in a slice in the paper, 40,000 in its code.
struct p3_rule {
    int servers = 1;
    index_t slice = 50'000; ///< parameters, at most
    worker_speed speed{}; ///< that the messages' order is made for, which counts where no queue orders them at run time
};

/// Slices of gradients go round robin to servers on the workers, which sum, update and send back each slice by itself.
/// Of what is ready the slices of the first layers go first, one slice at a time: urgent ones overtake at slices' ends.
/// What is ready is seen at run time (synchronization:: urgent_first), so that the order needs no predicted speeds;
/// there is no barrier between steps. Throws tessera::error for slices of less than one parameter and for fewer than
/// one server.
synchronization p3(const std::vector<ready_gradient>& gradients, const p3_rule& rule);

inline constexpr option_row slice_option{"slice", "elements of a slice of P3, at most", 50'000, 1, 1e15};

inline constexpr policy_record p3_record{
    .name = "p3",
    .title = "P3",
    .about = "slices to parameter servers and back, the first layers' first",
    .make =
        [](const policy_setting& x) {
            return p3(x.gradients, {servers_of(x), x.options.as<index_t>(slice_option), x.speed});
        },
    .options = {servers_option, slice_option},
};

} // namespace tessera::schedule

namespace tessera {

/// In a strategy that is a type: synchronize<p3<4>>.
template <int Servers, index_t Slice = schedule::p3_rule{}.slice>
struct p3 {
    static constexpr problem check() {
        const problem p = schedule::check_servers(Servers);
        return p ? p : schedule::check_slice(Slice);
    }
    static constexpr sync_modes modes() { return {true, sync_time::ready, sync_time::ready, false, 0}; }
    static synchronization make(const std::vector<schedule::ready_gradient>& gradients,
                                const schedule::worker_speed& speed) {
        return schedule::p3(gradients, {Servers, Slice, speed});
    }
};

} // namespace tessera

#ifndef TESSERA_COMPILED
#include "tessera/schedule/p3.inl"
#endif

#include "tessera/base/end_header.inl"
