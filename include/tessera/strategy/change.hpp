// SPDX-License-Identifier: Apache-2.0
// One operator's configuration with its own numbers, to be carried from strategy to strategy.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/strategy.hpp"

namespace tessera {

/// A new configuration for one operator.
struct change {
    int op = 0;
    configuration what; ///< its device list and cut points, if any, stand in `pool`
    std::vector<index_t> pool;
    friend bool operator==(const change&, const change&) = default;
};

/// A configuration without cut points, placed on the devices listed (empty: by its start and stride).
inline change place_on(int op, const configuration& c, const std::vector<int>& devices) {
    change x{op, c, {devices.begin(), devices.end()}};
    x.what.devices = devices.empty() ? -1 : 0;
    return x;
}

/// What an operator has in a strategy.
inline change change_of(const strategy& s, int op) {
    change x{op, s.ops[static_cast<std::size_t>(op)], {}};
    const auto take = [&](int& where, int count) {
        if (where >= 0) {
            const auto first = s.pool.begin() + where;
            where = static_cast<int>(x.pool.size());
            x.pool.insert(x.pool.end(), first, first + count);
        }
    };
    for (int l = 0; l < max_loops; ++l) {
        take(x.what.cuts[l], x.what.degree[l] - 1);
    }
    take(x.what.devices, x.what.shards());
    return x;
}

/// Puts a change into a strategy. What the operator had stays in the strategy's pool, see compacted().
inline void apply(strategy& s, const change& x) {
    configuration& c = s.ops[static_cast<std::size_t>(x.op)];
    c = x.what;
    const int first = static_cast<int>(s.pool.size());
    c.devices = c.devices < 0 ? -1 : c.devices + first;
    for (int& cut : c.cuts) {
        cut = cut < 0 ? -1 : cut + first;
    }
    for (const index_t number : x.pool) {
        s.pool.push_back(number);
    }
}

/// The same strategy without what nothing uses: numbers in the pool, a schedule without stages.
inline strategy compacted(const strategy& s) {
    strategy c = s;
    c.schedule = s.schedule.stages > 0 ? s.schedule : pipeline_schedule{};
    c.pool.clear();
    for (int op = 0; op < static_cast<int>(s.ops.size()); ++op) {
        apply(c, change_of(s, op));
    }
    return c;
}

/// True if two strategies say the same in every field, wherever their numbers lie in the pool.
inline bool is_same(const strategy& a, const strategy& b) { return compacted(a) == compacted(b); }

/// Equal for strategies that are the same, in every process and on every machine.
inline std::uint64_t hash_of(const strategy& s) { return hash_of_fields(compacted(s)); }

/// True if two strategies say the same in every field but how operators are split and where their shards lie: what a mirror image, or the same
/// work on other devices, has in common.
inline bool is_same_but_for_shards(const strategy& a, const strategy& b) {
    const auto rest = [](const strategy& s) {
        strategy r = compacted(s);
        r.pool.clear();
        for (configuration& c : r.ops) {
            configuration whole;
            whole.stage = c.stage;
            whole.recompute = c.recompute;
            c = whole;
        }
        return r;
    };
    return rest(a) == rest(b);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
