// SPDX-License-Identifier: Apache-2.0
// Every synchronization policy with settings that make small networks' gradients travel in several slices, buckets and cycles.
#pragma once

#include "tessera/schedule/blocking_all_reduce.hpp"
#include "tessera/schedule/buckets.hpp"
#include "tessera/schedule/byte_scheduler.hpp"
#include "tessera/schedule/p3.hpp"
#include "tessera/schedule/parameter_server.hpp"
#include "tessera/schedule/ring_all_reduce.hpp"
#include "tessera/schedule/tensor_fusion.hpp"
#include "tessera/schedule/zero.hpp"

#include <string>
#include <utility>
#include <vector>

namespace test_support {

namespace ts = tessera;

inline std::vector<std::pair<std::string, ts::synchronization>> small_policies(const ts::graph_view& g, int devices) {
    namespace s = ts::schedule;
    const s::worker_speed slow{1, 0.01};
    const std::vector<s::ready_gradient> all = s::gradients_of(g, slow);
    const s::credit_rule partitions{ts::exchange::server, devices, 150, 400, slow};
    const s::credit_rule reduced{ts::exchange::all_reduce, 1, 200, 500, slow};
    return {{"blocking all-reduce", s::blocking_all_reduce(all)},
            {"ring all-reduce", s::ring_all_reduce(all)},
            {"tensor fusion", s::tensor_fusion(all, {2000, 2000})},
            {"buckets", s::buckets(all, {2400, 500})},
            {"parameter server", s::parameter_server(all, {devices, 300})},
            {"P3", s::p3(all, {devices, 100, slow})},
            {"ByteScheduler", s::byte_scheduler(all, partitions)},
            {"ByteScheduler on all-reduces", s::byte_scheduler(all, reduced)},
            {"ZeRO 1", s::zero(all, 1, 400)},
            {"ZeRO 2", s::zero(all, 2)},
            {"ZeRO 3", s::zero(all, 3)}};
}

} // namespace test_support
