// SPDX-License-Identifier: Apache-2.0
// Random legal strategies: every loop that may be split, uneven shards, cut points, replicas, arbitrary devices.
#pragma once

#include "tessera/op/mask.hpp"
#include "tessera/plan/plan.hpp"
#include "tessera/strategy/strategy.hpp"

namespace test_support {

namespace ts = tessera;

struct random {
    std::uint64_t state;
    /// A number in [0, n).
    int operator()(int n) {
        state = ts::op::mix(state);
        return static_cast<int>((state >> 33U) % static_cast<std::uint64_t>(n));
    }
};

/// What kinds of splits a strategy used, so that a test can say that none was forgotten.
struct coverage {
    int roles[5]{};
    int uneven = 0;
    int cuts = 0;
    int replicas = 0;
    int several = 0;
    int partial = 0;
    int joins = 0; ///< partial tensors that an operator of several inputs passes on
};

/// Splits the reduction of an operator whose consumer is to be handed the parts; true if it has one.
inline bool split_reduction(const ts::description& d, ts::configuration& c, int degree) {
    for (int l = 0; l < d.loops.size(); ++l) {
        if (ts::role(d, l) == ts::loop_role::reduction && ts::splittable(d, l) && d.loops[l].extent >= degree) {
            c.degree[l] = degree;
            return true;
        }
    }
    return false;
}

/// `leave` > 1: the operator is to leave its output in that many parts, if it can.
inline void random_configuration(const ts::graph_view& g, ts::strategy& s, int op, int devices, int leave, random& pick,
                                 coverage& seen) {
    ts::configuration& c = s.ops[ts::to_size(op)];
    const ts::description d = g.describe(op);
    c.uneven = c.reduces = true;
    // A linear operator passes a partial tensor on now and then.
    int parts = 0;
    for (int t : g.ops[op].inputs) {
        const int now = ts::detail::parts_of_tensor(g, s.view(), t);
        parts = parts == 0 || parts == now ? now : -1;
    }
    if (d.linear && parts > 1 && parts <= devices * 2 && pick(4) != 0) {
        c.partial = parts;
        ++seen.partial;
        seen.joins += g.ops[op].inputs.size() > 1 ? 1 : 0;
    }
    if (leave > 1 && c.partial == 1 && split_reduction(d, c, leave)) {
        ++seen.roles[static_cast<int>(ts::loop_role::reduction)];
    }
    int split = 0;
    for (int tries = 0; tries < 3; ++tries) {
        const int l = pick(d.loops.size());
        const int room = devices * 2 / c.shards();
        if (c.degree[l] > 1 || room < 2 || !ts::splittable(d, l)) {
            continue;
        }
        const int most = static_cast<int>(d.loops[l].extent < room ? d.loops[l].extent : room);
        const int degree = most < 2 ? 1 : 2 + pick(most - 1 < 4 ? most - 1 : 4);
        if (degree < 2 || degree > most) {
            continue;
        }
        c.degree[l] = degree;
        ++split;
        ++seen.roles[static_cast<int>(ts::role(d, l))];
        seen.uneven += d.loops[l].extent % degree != 0 ? 1 : 0;
        if (degree == 2 && pick(3) == 0) {
            s.cut(op, l, {1 + pick(static_cast<int>(d.loops[l].extent) - 1)});
            ++seen.cuts;
        }
    }
    seen.several += split > 1 ? 1 : 0;
    if (pick(5) == 0 && c.shards() * 2 <= devices * 2) {
        c.replicate = 2;
        ++seen.replicas;
    }
    std::vector<int> where;
    const bool spread = pick(3) != 0;
    const int start = pick(devices);
    for (int i = 0; i < c.shards(); ++i) {
        where.push_back(spread ? (start + i) % devices : pick(devices));
    }
    s.place(op, where);
}

inline ts::strategy random_strategy(const ts::graph_view& g, int devices, std::uint64_t seed, coverage& seen) {
    ts::strategy s(g);
    random pick{ts::op::mix(seed)};
    // Now and then all that a linear operator reads is left in parts, equally many, so that it can pass them on.
    std::vector<int> leave(ts::to_size(g.tensor_count), 1);
    const int parts = 2 + pick(2);
    for (int op = 0; op < g.op_count; ++op) {
        const bool passes = g.describe(op).linear && pick(2) == 0;
        for (int t : g.ops[op].inputs) {
            leave[ts::to_size(t)] = passes ? parts : leave[ts::to_size(t)];
        }
    }
    for (int op = 0; op < g.op_count; ++op) {
        random_configuration(g, s, op, devices, leave[ts::to_size(g.ops[op].output)], pick, seen);
    }
    return s;
}

/// Puts what does not compute on one of two streams at random; the members of a collective on one of them together.
inline void random_streams(ts::plan& p, std::uint64_t seed) {
    p.streams = 2; // and no queues
    for (std::size_t i = 0; i < p.tasks.size(); ++i) {
        ts::task& t = p.tasks[i];
        const std::uint64_t key = t.params().slices > 1 ? 2 * static_cast<std::uint64_t>(t.writes[0]) : 2 * i + 1;
        const bool leaves = t.kind() != ts::task_kind::compute && ts::op::mix(seed ^ ts::op::mix(key)) % 2 == 0;
        t.stream = leaves ? ts::task_stream::communication : ts::task_stream::compute;
        t.priority = -1;
    }
}

} // namespace test_support
