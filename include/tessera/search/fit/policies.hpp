// SPDX-License-Identifier: Apache-2.0
// What synchronization policies go by on a machine, and what fit() has to know of what they make.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/cost/roofline.hpp"
#include "tessera/machine/cluster.hpp"
#include "tessera/schedule/policy_record.hpp"
#include "tessera/strategy/strategy.hpp"

namespace tessera::search {

/// The speeds that policies order messages by: convolutions' on the first device, and those of the way from it to the last.
inline schedule::worker_speed speed_of(const cluster& on, const cost::roofline_efficiency& reached = {}) {
    const int convolution = static_cast<int>(work_kind::convolution);
    const double rate = static_cast<double>(on.class_of(0).gigaflops[convolution]) * reached.compute[convolution] / 100;
    const index_t way = on.between(0, on.devices() - 1).megabytes;
    return {rate > 0 ? rate : 1, way > 0 ? static_cast<double>(way) / 1000 : 1};
}

/// What a policy makes for a number of devices that may share parameters.
inline synchronization synchronization_of(const graph_view& g, int members, const schedule::worker_speed& speed,
                                          const schedule::policy_record& policy, const option_values& options = {}) {
    schedule::policy_setting on{schedule::gradients_of(g, speed, members), members, speed};
    on.options = options_of(policy, options);
    return schedule::make(policy, on);
}

namespace detail {

/// What estimates have to know of a policy.
struct policy_traits {
    bool late_sums = false;    ///< nothing is exchanged before all has gone backward
    bool late_updates = false; ///< sums wait for that
    bool whole = false;        ///< every copy is updated as a whole, and keeps all of its state
    bool sharded = false;      ///< parameters are stored in slices
    bool queued = false;       ///< gradients stay until a queue has sent them
    exchange how = exchange::sliced;
    std::vector<int> messages; ///< by the operator that first uses the parameter of their first slice
    index_t largest = 0;       ///< bytes of the largest message
};

inline policy_traits traits_of(const graph_view& g, const std::vector<schedule::ready_gradient>& gradients,
                               const synchronization& s) {
    policy_traits t;
    t.late_sums = s.sum_at == sync_time::after_backward;
    t.late_updates = s.update_at == sync_time::after_backward;
    t.sharded = s.shards_parameters;
    t.queued = s.urgent_first;
    t.messages.assign(static_cast<std::size_t>(g.op_count), 0);
    std::vector<int> layer(static_cast<std::size_t>(g.parameter_count), 0);
    for (const schedule::ready_gradient& x : gradients) {
        layer[static_cast<std::size_t>(x.parameter)] = x.layer;
        if (s.messages.empty()) {
            ++t.messages[static_cast<std::size_t>(x.layer)];
            t.largest = std::max(t.largest, x.bytes());
        }
    }
    for (const message& m : s.messages) {
        t.how = m.how;
        index_t bytes = 0;
        for (const gradient_slice& x : m.slices) {
            bytes += even_part(g.parameters[x.parameter].extents.volume(), x.slices, x.slice).size() *
                     bytes_of(element::f32);
        }
        t.largest = std::max(t.largest, bytes);
        m.slices.empty()
            ? void()
            : void(++t.messages[static_cast<std::size_t>(layer[static_cast<std::size_t>(m.slices[0].parameter)])]);
    }
    t.whole = t.how == exchange::all_reduce || t.how == exchange::ring;
    return t;
}

} // namespace detail

} // namespace tessera::search

#include "tessera/base/end_header.inl"
