// SPDX-License-Identifier: Apache-2.0
// Bodies of parallelism.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/search/joint/parallelism.hpp"

#include "tessera/schedule/interleaved.hpp"
#include "tessera/schedule/one_forward_one_backward.hpp"
#include "tessera/schedule/zero.hpp"
#include "tessera/search/fit/policies.hpp"

#include <utility>

namespace tessera::search::detail {

/// All operators of one stage, on the devices from 0 on.
TESSERA_INLINE strategy shared_strategy(const graph_view& g, const parallelism& x, const parallelism_parts& parts) {
    if (x.how != shared_by::exact && x.how != shared_by::lean) {
        return share_sequences(g, static_cast<sequence_sharing>(x.how), x.data, x.share);
    }
    strategy s(g);
    require(parts.within.size() != to_size(g.op_count)
                ? problem{rule::strategy_has_wrong_size, -1, -1, static_cast<index_t>(parts.within.size()), g.op_count}
                : problem{});
    s.ops = parts.within;
    for (configuration& c : s.ops) {
        c.degree[0] *= x.data;
    }
    return s;
}

} // namespace tessera::search::detail

namespace tessera::search {

TESSERA_INLINE std::string to_text(shared_by how) {
    constexpr const char* names[] = {"tensor", "ulysses", "ring", "zigzag", "exact", "lean"};
    return names[static_cast<int>(how)];
}

TESSERA_INLINE std::string to_text(const parallelism& x) {
    std::string t = "data " + std::to_string(x.data);
    t += x.share > 1 ? " x " + to_text(x.how) + " " + std::to_string(x.share) : "";
    t += x.stages > 1 ? " x stages " + std::to_string(x.stages) : "";
    t += x.chunks > 1 ? " (" + std::to_string(x.chunks) + " chunks each)" : "";
    t += x.micro_batches > 1 ? ", " + std::to_string(x.micro_batches) + " micro-batches" : "";
    t += x.zero > 0 ? ", ZeRO-" + std::to_string(x.zero) : "";
    t += x.recomputed.which != recompute_rule::kind::none ? ", recomputes " + to_text(x.recomputed) : "";
    return t;
}

TESSERA_INLINE strategy strategy_of(const graph_view& g, const cluster& on, const parallelism& x,
                                    const parallelism_parts& parts) {
    strategy s = detail::shared_strategy(g, x, parts);
    const std::vector<index_t> pool = s.pool;
    const int of_stage = x.data * x.share;
    for (int k = 1; k < x.stages; ++k) { // pieces that are listed, at the devices of every worker
        for (const index_t device : pool) {
            s.pool.push_back(device + k * of_stage);
        }
    }
    for (int op = 0; op < g.op_count && x.stages > 1; ++op) {
        configuration& c = s.ops[to_size(op)];
        c.stage = parts.stage[to_size(op)];
        const int worker = c.stage % x.stages;
        if (c.devices >= 0) {
            c.devices += worker * static_cast<int>(pool.size());
        } else {
            c.start += worker * of_stage;
        }
    }
    if (x.stages > 1) {
        s.follow(x.chunks > 1 ? schedule::interleaved(x.stages, x.chunks, x.micro_batches)
                              : schedule::one_forward_one_backward(x.stages, x.micro_batches));
    }
    s.micro_batches = x.micro_batches;
    for (configuration& c : s.ops) {
        c.uneven = c.uneven || x.micro_batches > 1;
    }
    if (x.zero > 0) {
        s.sync = schedule::zero(schedule::gradients_of(g, speed_of(on), on.devices()), x.zero);
    }
    if (x.recomputed.which != recompute_rule::kind::none) {
        recompute(s, g, x.recomputed);
    }
    require(g, s.view(), on.devices());
    return s;
}

} // namespace tessera::search

#include "tessera/base/end_header.inl"
