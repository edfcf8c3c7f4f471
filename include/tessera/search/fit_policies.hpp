// SPDX-License-Identifier: Apache-2.0
// The synchronization policies among which fit() chooses, by name.
#pragma once

#include "tessera/cost/roofline.hpp"
#include "tessera/layout/strategy.hpp"
#include "tessera/machine/cluster.hpp"
#include "tessera/schedule/blocking_all_reduce.hpp"
#include "tessera/schedule/buckets.hpp"
#include "tessera/schedule/byte_scheduler.hpp"
#include "tessera/schedule/p3.hpp"
#include "tessera/schedule/parameter_server.hpp"
#include "tessera/schedule/ring_all_reduce.hpp"
#include "tessera/schedule/tensor_fusion.hpp"
#include "tessera/schedule/zero.hpp"

namespace tessera::search {

/// What a policy has to go by.
struct policy_setting {
    std::vector<schedule::ready_gradient> gradients; ///< of the network
    int members = 1;              ///< devices that may have copies of the same parameters, at most: so many servers
    schedule::worker_speed speed; ///< of a device, and of the way to the last one
};

/// A way to synchronize gradients, by its name.
struct fit_policy {
    std::string name;
    synchronization (*make)(const policy_setting& on) = nullptr;
};

/// Every policy in schedule/ that gives the numbers of one device, with the settings of its paper or program. (Averages of parameters every k > 1
/// steps do not; fit() tries every gradient by itself, which is no policy, in any case.)
inline std::vector<fit_policy> every_policy() {
    using in = const policy_setting&;
    return {
        {"blocking all-reduce", [](in x) { return schedule::blocking_all_reduce(x.gradients); }},
        {"ring all-reduce", [](in x) { return schedule::ring_all_reduce(x.gradients); }},
        {"tensor fusion", [](in x) { return schedule::tensor_fusion(x.gradients); }},
        {"buckets", [](in x) { return schedule::buckets(x.gradients); }},
        {"parameter server", [](in x) { return schedule::parameter_server(x.gradients, {x.members}); }},
        {"P3", [](in x) { return schedule::p3(x.gradients, {.servers = x.members, .speed = x.speed}); }},
        {"ByteScheduler",
         [](in x) { return schedule::byte_scheduler(x.gradients, {.servers = x.members, .speed = x.speed}); }},
        {"ByteScheduler on all-reduces",
         [](in x) {
             return schedule::byte_scheduler(x.gradients, {exchange::all_reduce, 1, 8'000'000, 16'000'000, x.speed});
         }},
        {"ByteScheduler on slices",
         [](in x) {
             return schedule::byte_scheduler(x.gradients, {exchange::sliced, 1, 1'000'000, 4'000'000, x.speed});
         }},
        {"ZeRO 1", [](in x) { return schedule::zero(x.gradients, 1); }},
        {"ZeRO 2", [](in x) { return schedule::zero(x.gradients, 2); }},
        {"ZeRO 3", [](in x) { return schedule::zero(x.gradients, 3); }},
    };
}

/// The speeds that policies order messages by: convolutions' on the first device, and those of the way from it to the last.
inline schedule::worker_speed speed_of(const cluster& on, const cost::roofline_efficiency& reached = {}) {
    const int convolution = static_cast<int>(work_kind::convolution);
    const double rate = static_cast<double>(on.class_of(0).gigaflops[convolution]) * reached.compute[convolution] / 100;
    const index_t way = on.between(0, on.devices() - 1).megabytes;
    return {rate > 0 ? rate : 1, way > 0 ? static_cast<double>(way) / 1000 : 1};
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
    std::vector<int> messages; ///< by the operator that first uses the parameter of their first piece
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
        for (const gradient_slice& x : m.pieces) {
            bytes += even_part(g.parameters[x.parameter].extents.volume(), x.slices, x.slice).size() *
                     bytes_of(element::f32);
        }
        t.largest = std::max(t.largest, bytes);
        m.pieces.empty()
            ? void()
            : void(++t.messages[static_cast<std::size_t>(layer[static_cast<std::size_t>(m.pieces[0].parameter)])]);
    }
    t.whole = t.how == exchange::all_reduce || t.how == exchange::ring;
    return t;
}

} // namespace detail

} // namespace tessera::search
