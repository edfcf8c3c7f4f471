// SPDX-License-Identifier: Apache-2.0
// Bodies of policies.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/fit/policies.hpp"

namespace tessera::search {

TESSERA_INLINE schedule::worker_speed speed_of(const cluster& on, const cost::roofline_efficiency& reached) {
    const int convolution = static_cast<int>(work_kind::convolution);
    const double rate = static_cast<double>(on.class_of(0).gigaflops[convolution]) * reached.compute[convolution] / 100;
    const index_t way = on.between(0, on.devices() - 1).megabytes;
    return {rate > 0 ? rate : 1, way > 0 ? static_cast<double>(way) / 1000 : 1};
}

TESSERA_INLINE synchronization synchronization_of(const graph_view& g, int members, const schedule::worker_speed& speed,
                                                  const schedule::policy_record& policy, const option_values& options) {
    schedule::policy_setting on{schedule::gradients_of(g, speed, members), members, speed};
    on.options = options_of(policy, options);
    return schedule::make(policy, on);
}

} // namespace tessera::search

namespace tessera::search::detail {

TESSERA_INLINE policy_traits traits_of(const graph_view& g, const std::vector<schedule::ready_gradient>& gradients,
                                       const synchronization& s) {
    policy_traits t;
    t.late_sums = s.sum_at == sync_time::after_backward;
    t.late_updates = s.update_at == sync_time::after_backward;
    t.sharded = s.shards_parameters;
    t.queued = s.urgent_first;
    t.messages.assign(to_size(g.op_count), 0);
    std::vector<int> layer(to_size(g.parameter_count), 0);
    for (const schedule::ready_gradient& x : gradients) {
        layer[to_size(x.parameter)] = x.layer;
        if (s.messages.empty()) {
            ++t.messages[to_size(x.layer)];
            t.largest = std::max(t.largest, x.bytes());
        }
    }
    for (const message& m : s.messages) {
        t.method = m.method;
        index_t bytes = 0;
        for (const gradient_slice& x : m.slices) {
            bytes += even_part(g.parameters[x.parameter].extents.volume(), x.slices, x.slice).size() *
                     bytes_of(element::f32);
        }
        t.largest = std::max(t.largest, bytes);
        if (!m.slices.empty()) {
            ++t.messages[to_size(layer[to_size(m.slices[0].parameter)])];
        }
    }
    t.whole = t.method == exchange::all_reduce || t.method == exchange::ring;
    return t;
}

} // namespace tessera::search::detail

#include "tessera/base/end_header.inl"
