// SPDX-License-Identifier: Apache-2.0
// In what two strategies of one network differ.
#pragma once

#include "tessera/layout/strategy.hpp"

namespace tessera::search {

/// What two configurations of one operator may differ in.
struct operator_difference {
    int op = -1;
    bool splits = false;   ///< degrees or cut points, parts of a partial input
    bool replicas = false; ///< copies of every shard
    bool devices = false;  ///< where some shard runs (other numbers of shards always run elsewhere)
    bool stage = false;
    bool recompute = false;

    constexpr bool any() const { return splits || replicas || devices || stage || recompute; }
};

/// Leave to be uneven, or to split coupled loops, is no difference: it changes nothing that runs.
struct strategy_difference {
    std::vector<operator_difference> ops; ///< that differ, in the network's order
    bool micro_batches = false;
    bool period = false;
    bool schedule = false;
    bool statistics = false;
    bool parameters_on = false;
    bool overlap = false;
    bool sync = false;

    bool any() const {
        return !ops.empty() || micro_batches || period || schedule || statistics || parameters_on || overlap || sync;
    }
};

namespace detail {

inline operator_difference compare(const description& d, const strategy& a, const strategy& b, int op) {
    const configuration& x = a.ops[static_cast<std::size_t>(op)];
    const configuration& y = b.ops[static_cast<std::size_t>(op)];
    operator_difference r;
    r.op = op;
    r.splits = x.partial != y.partial;
    for (int l = 0; l < d.loops.size(); ++l) {
        r.splits = r.splits || x.degree[l] != y.degree[l];
        for (int i = 0; !r.splits && i < x.degree[l]; ++i) {
            r.splits = !(range_of(x, a.pool.data(), d, l, i) == range_of(y, b.pool.data(), d, l, i));
        }
    }
    r.replicas = x.replicate != y.replicate;
    r.devices = x.shards() != y.shards();
    for (int i = 0; !r.devices && i < x.shards(); ++i) {
        r.devices = shard_at(x, a.pool.data(), d, i).device != shard_at(y, b.pool.data(), d, i).device;
    }
    r.stage = x.stage != y.stage;
    r.recompute = x.recompute != y.recompute;
    return r;
}

} // namespace detail

/// Compares two strategies of a network. Throws tessera::error where one of them has another number of operators.
inline strategy_difference difference(const graph_view& g, const strategy& a, const strategy& b) {
    for (const strategy* s : {&a, &b}) {
        if (static_cast<int>(s->ops.size()) != g.op_count) {
            throw error(to_text(tessera::detail::broken(rule::strategy_has_wrong_size, -1, -1,
                                                        static_cast<index_t>(s->ops.size()), g.op_count),
                                {}));
        }
    }
    strategy_difference r;
    for (int op = 0; op < g.op_count; ++op) {
        const operator_difference one = detail::compare(g.describe(op), a, b, op);
        if (one.any()) {
            r.ops.push_back(one);
        }
    }
    r.micro_batches = a.micro_batches != b.micro_batches;
    r.period = a.period != b.period;
    const bool none = a.schedule.stages == 0 && b.schedule.stages == 0;
    r.schedule = !none && !(a.schedule == b.schedule);
    r.statistics = a.statistics != b.statistics;
    r.parameters_on = a.parameters_on != b.parameters_on;
    r.overlap = a.overlap != b.overlap;
    r.sync = !(a.sync == b.sync);
    return r;
}

} // namespace tessera::search
