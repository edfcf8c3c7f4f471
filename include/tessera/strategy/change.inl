// SPDX-License-Identifier: Apache-2.0
// Bodies of change.hpp.
#pragma once
#include "tessera/base/begin_header.inl"

#include "tessera/strategy/change.hpp"

namespace tessera {

TESSERA_INLINE change place_on(int op, const configuration& c, const std::vector<int>& devices) {
    change x{op, c, {devices.begin(), devices.end()}};
    x.what.devices = devices.empty() ? -1 : 0;
    return x;
}

TESSERA_INLINE change change_of(const strategy& s, int op) {
    change x{op, s.ops[to_size(op)], {}};
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

TESSERA_INLINE void apply(strategy& s, const change& x) {
    configuration& c = s.ops[to_size(x.op)];
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

TESSERA_INLINE strategy compacted(const strategy& s) {
    strategy c = s;
    c.schedule = s.schedule.stages > 0 ? s.schedule : pipeline_schedule{};
    c.pool.clear();
    for (int op = 0; op < static_cast<int>(s.ops.size()); ++op) {
        apply(c, change_of(s, op));
    }
    return c;
}

TESSERA_INLINE bool is_same_but_for_shards(const strategy& a, const strategy& b) {
    const auto rest = [](const strategy& s) {
        strategy r = compacted(s);
        r.pool.clear();
        for (configuration& c : r.ops) {
            configuration whole;
            copy_all_but_shards(whole, c);
            c = whole;
        }
        return r;
    };
    return rest(a) == rest(b);
}

} // namespace tessera

#include "tessera/base/end_header.inl"
